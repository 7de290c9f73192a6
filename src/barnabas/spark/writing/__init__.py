"""The writers, at least once and exactly once."""
