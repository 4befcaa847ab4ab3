"""Frozen values that the whole house passes around: no behaviour that needs a clock, a file or a network."""
