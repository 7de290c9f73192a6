"""From the fetch to `poll`: fetching, the buffer, positions."""
