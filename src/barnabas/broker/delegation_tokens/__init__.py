"""Delegation tokens (KIP-48): what is kept of one, for how long it counts, and how they are changed."""
