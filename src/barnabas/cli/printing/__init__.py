"""What a terminal shows: tables and bars."""
