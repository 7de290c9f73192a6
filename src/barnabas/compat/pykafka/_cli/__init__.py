"""What pykafka's command line stands on."""
