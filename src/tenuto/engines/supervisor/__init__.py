"""The supervisor owns the workers of one node: it starts, watches and stops them, and tells the server.

`options.SupervisorOptions` and `run.run` are what others call; `python -m tenuto.engines.supervisor` is the same
as a program. Kept empty, so that looking at one module does not load all of them.
"""
