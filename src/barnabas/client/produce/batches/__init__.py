"""The batches of a producer on their way: their order, their sequences, what waits. Without I/O."""
