"""What clients tell the program's log. Knows no client."""
