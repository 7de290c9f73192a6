"""Barnabas beside other clients, on one real Kafka, in one run: `python -m bench`."""
