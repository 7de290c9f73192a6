"""Spark's streaming queries: what a listener and checkpoints tell of them. Knows nothing of HTTP."""
