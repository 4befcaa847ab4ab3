"""Elastic deep-learning training that holds its deadlines."""

__version__ = "0.1.0"
