"""For plain calls."""
