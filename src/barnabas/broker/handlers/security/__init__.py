"""Who may log in."""
