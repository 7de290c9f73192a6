"""What programs for kafka-python hold in their hands: errors, named tuples, futures. Knows no client."""
