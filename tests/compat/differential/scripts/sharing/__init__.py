"""Scripts of ShareConsumers."""
