"""Keys and values in lines: how bytes become text and JSON, and how these become bytes."""
