"""What pykafka's Producer stands on."""
