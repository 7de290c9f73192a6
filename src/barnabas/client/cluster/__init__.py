"""What all clients stand on: connections by node, metadata, retries, telemetry. Knows no records."""
