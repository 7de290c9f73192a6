"""What a program's settings mean: checked as kafka-python checks them, and as settings of the core."""
