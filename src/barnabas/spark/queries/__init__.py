"""What Spark reports of its streaming queries, as figures."""
