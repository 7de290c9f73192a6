"""The APIs of Streams groups (KIP-1071)."""
