"""What is in records, as people, conditions and files have it. Knows no command and no page."""
