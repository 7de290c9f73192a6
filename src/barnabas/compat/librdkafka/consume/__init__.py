"""librdkafka's consumers."""
