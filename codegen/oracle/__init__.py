"""Checks Barnabas's messages against Kafka's own Java classes."""
