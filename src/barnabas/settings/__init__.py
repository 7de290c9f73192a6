"""What can be set: the table of settings, and how keywords become one of its configurations."""
