"""What `benchmarks/rescale.py` needs: one training in the dress of each system, and how its pauses are read."""
