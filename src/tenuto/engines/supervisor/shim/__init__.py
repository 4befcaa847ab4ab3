"""A shim stands beside one worker from its start to its end, and writes down what becomes of it.

It is a process of its own in a session of its own, so that the supervisor can be killed and started again without
the worker noticing. Whatever the worker starts stays the shim's child or grandchild (it is a subreaper), so "no
child left" means that everything is gone for certain. If the shim itself is killed, the kernel kills the worker.

There is one for each worker, so it must cost a few megabytes and milliseconds: standard library only, and of that
only what is light (no pathlib, no typing, no subprocess). It takes no part in deciding; it obeys `order.json` and
`stop.json` and leaves `exit.json`.
"""
