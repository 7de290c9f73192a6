"""KafkaConsumer on the core's consumer: its session, settings, records, listeners and assignors."""
