"""What a batch or micro-batch reads: offsets, ranges, limits."""
