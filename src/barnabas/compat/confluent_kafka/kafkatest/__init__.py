"""The clients that Apache Kafka's own system tests (tests/kafkatest) run as programs."""
