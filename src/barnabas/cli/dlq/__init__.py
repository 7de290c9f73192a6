"""Dead letters, sent back."""
