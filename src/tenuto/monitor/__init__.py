"""Samples of nodes and GPUs: how they are taken, passed on, and told to other systems."""
