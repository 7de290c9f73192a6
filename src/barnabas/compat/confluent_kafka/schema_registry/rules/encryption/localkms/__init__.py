"""Keys made of a secret text."""
