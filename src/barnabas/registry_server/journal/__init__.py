"""Where a registry's records are kept, and which of several registries may write them."""
