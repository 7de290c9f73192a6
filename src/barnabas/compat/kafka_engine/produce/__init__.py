"""KafkaProducer and what it stands on."""
