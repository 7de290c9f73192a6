"""Where older programs look for types that Protobuf does not have."""
