"""A schema registry: its subjects, their versions, and changes to them."""
