"""What pykafka's SimpleConsumer stands on."""
