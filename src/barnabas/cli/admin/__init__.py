"""The commands that administer a cluster, one module for each group of them."""
