"""What `barnabas consume` reads: which topics, from where, until where, and which of their records."""
