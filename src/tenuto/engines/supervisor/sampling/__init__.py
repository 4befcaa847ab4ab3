"""The node's sampler as the supervisor sees it: a process that is kept alive, and samples that are kept until safe.

Everything here has threads of its own; workers and orders never wait for it.
"""
