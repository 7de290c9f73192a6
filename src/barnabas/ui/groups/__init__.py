"""What the page shows of groups: their lag over time, and their members. Knows nothing of HTTP."""
