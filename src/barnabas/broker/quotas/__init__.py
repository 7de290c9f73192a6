"""Quotas of clients: what is set, and how long who goes over it has to wait."""
