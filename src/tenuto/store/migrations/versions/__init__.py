"""One module for each version. Their order is in them, not in their names."""
