"""Dead letters: what they tell, which of them are chosen, and their order."""
