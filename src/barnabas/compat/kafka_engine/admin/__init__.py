"""What KafkaAdminClient stands on: its connection, its requests, and the shapes that answers are given in.
Knows no class that programs see but errors."""
