"""Assignments that change as little as they can."""
