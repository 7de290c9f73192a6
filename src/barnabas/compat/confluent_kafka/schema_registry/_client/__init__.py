"""How the clients of a registry work, those for plain calls and those for asyncio alike."""
