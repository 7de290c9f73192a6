"""The embedded broker for development and tests: one process, the real protocol, a log on disk or in memory.
It is one node, or a cluster of several whose partitions have replicas.

`broker.server.Broker` is the way in, `python -m barnabas.broker` the same as a program.
"""
