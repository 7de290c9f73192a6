"""What librdkafka's clients ask the cluster: metadata, topics, requests of the administration."""
