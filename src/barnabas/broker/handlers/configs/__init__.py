"""Configurations of topics and of the broker."""
