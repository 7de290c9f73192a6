"""Records as the page reads, shows, exports and sends them. Knows nothing of HTTP."""
