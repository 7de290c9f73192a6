"""Replicas of partitions on several nodes: who leads, who is in sync, and how records get to the others."""
