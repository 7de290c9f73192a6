"""What groups of all protocols have in common: names, offsets, and their records in __consumer_offsets."""
