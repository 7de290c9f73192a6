"""Connections: sockets, framing, version negotiation. Knows nothing of what a request means."""
