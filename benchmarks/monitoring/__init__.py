"""Parts of benchmarks/monitor.py: what watching costs those who train."""
