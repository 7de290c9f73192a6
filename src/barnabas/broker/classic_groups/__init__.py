"""Groups of the classic protocol, whose leader assigns (KIP-62, KIP-345, KIP-394)."""
