"""The clients for callers without an event loop."""
