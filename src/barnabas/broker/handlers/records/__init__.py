"""Writing, reading and finding records."""
