"""Clusters for tests of programs."""
