"""Scripts about schema registries."""
