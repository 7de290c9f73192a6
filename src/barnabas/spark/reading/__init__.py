"""The readers, batch and streaming, and what they ask of the cluster."""
