"""The log of librdkafka's clients: where its lines go, and what they say."""
