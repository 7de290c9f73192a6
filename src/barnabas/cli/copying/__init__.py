"""`barnabas copy`: records of topics go to other topics, of the same cluster or of another."""
