"""What programs see of Kafka's protocol."""
