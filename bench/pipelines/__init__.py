"""Single questions about queries of Spark, each measured by a program of its own."""
