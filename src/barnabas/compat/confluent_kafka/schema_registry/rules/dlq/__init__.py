"""Records that a rule failed for."""
