"""Clients' telemetry: what they are asked for, and what they push."""
