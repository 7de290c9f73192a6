"""Kafka's messages as kafka-python has them: structs of fixed versions, messages with a version, records.

Owns how they are written and read, and what an old version means to brokers that have only new ones. Knows no
connection.
"""
