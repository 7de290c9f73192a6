"""HTTP for what surrounds Kafka: one request to an endpoint, and pages for whoever asks. Knows no Kafka."""
