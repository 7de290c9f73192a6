"""Topics and their partitions."""
