"""For asyncio."""
