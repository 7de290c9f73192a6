"""What `barnabas produce` sends: how its input is divided, what a piece of it says of a record, and how fast
records may go."""
