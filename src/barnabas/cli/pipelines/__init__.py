"""Streaming queries of Spark on Kafka, from outside of Spark."""
