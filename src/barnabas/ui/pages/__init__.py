"""One module for each page: its routes, and what it shows."""
