"""Rules in JSONata."""
