"""Kafka's wire protocol: bytes and objects. No input or output, no clock, no state of a connection."""
