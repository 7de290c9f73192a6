"""The clients for asyncio, and what they share: metadata, routing, retries."""
