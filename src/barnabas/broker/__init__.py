"""The embedded broker: one process, one node, the real protocol, a log on disk.

For development and tests: nothing is replicated. `broker.server.Broker` is the way in, `python -m
barnabas.broker` the same as a program.
"""
