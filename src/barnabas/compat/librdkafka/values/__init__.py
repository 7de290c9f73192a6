"""What programs for librdkafka hold: partitions, errors, codes, constants."""
