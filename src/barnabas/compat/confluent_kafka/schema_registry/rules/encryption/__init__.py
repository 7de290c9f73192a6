"""Rules that encrypt."""
