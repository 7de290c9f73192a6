"""Keys of HashiCorp Vault."""
