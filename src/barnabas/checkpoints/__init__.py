"""Checkpoints of Spark's streaming queries, read without Spark."""
