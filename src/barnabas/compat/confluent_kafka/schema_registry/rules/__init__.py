"""Executors and actions of rules, by the original's names; `register` makes one known to the process."""
