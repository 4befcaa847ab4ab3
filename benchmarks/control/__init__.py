"""The parts of `benchmarks/control_plane.py`."""
