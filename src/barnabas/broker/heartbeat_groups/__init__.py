"""What groups have in common whose members say by heartbeats that they are there, and are assigned to by the
coordinator: groups of the consumer protocol (KIP-848), share groups (KIP-932), Streams groups (KIP-1071)."""
