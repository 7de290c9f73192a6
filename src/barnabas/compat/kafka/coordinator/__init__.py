"""Groups: assignors, and what members tell each other."""
