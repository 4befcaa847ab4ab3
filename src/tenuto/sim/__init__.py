"""The laboratory's simulator: a trace is replayed through the same round that the live platform uses."""
