"""What grows with topics and partitions."""
