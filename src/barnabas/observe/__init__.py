"""Adapters that show clients to monitoring systems. Each needs an extra, and is imported by its own name."""
