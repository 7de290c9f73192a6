"""`barnabas health`: what is wrong with a cluster, for people and for monitoring."""
