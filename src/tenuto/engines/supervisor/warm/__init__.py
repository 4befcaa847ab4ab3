"""Warm servers: a newcomer that needs torch is forked from a process that has imported it already.

Importing torch and building a first optimizer takes seconds of arithmetic; forking takes milliseconds. So for workers
of jobs that rescale in place the supervisor keeps a few processes that have done it (`pool`), each for one Python
program and the variables that matter when it starts (`call`). Such a server (`server`) forks a shim, and that shim
forks the worker, which becomes what `python train.py` would be (`program`, `become`). To everybody else the worker is
like any other: same record, same shim, same exit codes.

`server`, `program` and `become` run in the job's own Python, whatever is installed there: standard library only.
"""
