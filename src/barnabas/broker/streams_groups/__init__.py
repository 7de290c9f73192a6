"""Streams groups (KIP-1071): topologies, tasks and who is to have them."""
