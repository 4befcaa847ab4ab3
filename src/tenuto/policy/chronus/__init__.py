"""Chronus: time is cut into leases, and a promise is a number of leases before the deadline."""
