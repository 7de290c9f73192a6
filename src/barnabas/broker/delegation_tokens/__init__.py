"""A delegation token (KIP-48): what is kept of one, and for how long it counts."""
