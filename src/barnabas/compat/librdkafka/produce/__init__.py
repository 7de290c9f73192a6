"""librdkafka's Producer."""
