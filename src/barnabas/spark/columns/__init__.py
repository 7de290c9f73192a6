"""What keys and values mean: the options that say so, columns' types, decoding and encoding."""
