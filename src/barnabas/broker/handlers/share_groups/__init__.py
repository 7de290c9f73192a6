"""Share groups, and the records that are lent to their members."""
