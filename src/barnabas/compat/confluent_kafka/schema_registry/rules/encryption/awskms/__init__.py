"""Keys of AWS KMS."""
