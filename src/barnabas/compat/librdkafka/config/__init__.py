"""librdkafka's configuration: its properties, their rules, and what they mean here."""
