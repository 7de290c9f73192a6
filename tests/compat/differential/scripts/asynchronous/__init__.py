"""Scripts about clients for asyncio."""
