"""The events of librdkafka's clients, which their programs' callbacks get, and their statistics."""
