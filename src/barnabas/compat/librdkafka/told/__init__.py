"""What librdkafka's clients tell their programs: events and statistics."""
