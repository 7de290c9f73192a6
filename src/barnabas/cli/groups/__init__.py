"""`barnabas groups` and `share-groups`: who reads, how far they are, and where they go on from."""
