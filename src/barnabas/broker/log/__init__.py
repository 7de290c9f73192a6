"""The log on disk: segments, indexes, recovery, retention, compaction. Knows neither asyncio nor requests."""
