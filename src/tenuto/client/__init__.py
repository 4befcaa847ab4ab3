"""Clients of the REST API: typed ones for programs, and the plain one that the command line uses."""
