"""How the partitions of topics are divided among the members of a group."""
