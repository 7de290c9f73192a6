"""Figures of clients under the names that kafka-python gives them. Knows no class of `kafka.metrics`."""
