"""`barnabas reassign`: which brokers have replicas, and moves from some to others."""
