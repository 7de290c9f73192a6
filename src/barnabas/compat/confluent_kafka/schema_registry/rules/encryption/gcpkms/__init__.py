"""Keys of Google Cloud KMS."""
