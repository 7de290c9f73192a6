"""Membership of consumer groups, their subscriptions, assignors, and committed offsets."""
