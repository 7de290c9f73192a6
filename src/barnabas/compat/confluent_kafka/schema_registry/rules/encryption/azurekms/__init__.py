"""Keys of Azure Key Vault."""
