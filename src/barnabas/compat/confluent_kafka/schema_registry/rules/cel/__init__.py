"""Rules in CEL."""
