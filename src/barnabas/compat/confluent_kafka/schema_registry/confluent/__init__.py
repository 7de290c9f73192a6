"""What Confluent's messages are for: types that Protobuf does not have."""
