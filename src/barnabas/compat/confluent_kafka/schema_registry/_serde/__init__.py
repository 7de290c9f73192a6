"""How (de)serializers work, those for plain calls and those for asyncio alike."""
