"""The scripts, by what they are about."""
