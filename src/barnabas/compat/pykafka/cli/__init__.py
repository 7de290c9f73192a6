"""pykafka's command line."""
