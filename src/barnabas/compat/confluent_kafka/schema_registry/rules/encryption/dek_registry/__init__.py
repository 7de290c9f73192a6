"""Keys of a DEK registry."""
