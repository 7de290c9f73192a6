"""Transactions: APIs of their producers, of coordinators, and of administrators."""
