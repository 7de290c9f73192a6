"""What librdkafka's clients request of the cluster: metadata, topics, requests of the administration."""
