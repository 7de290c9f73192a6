"""What `barnabas produce` sends: how its input is divided, and what a piece of it says of a record."""
