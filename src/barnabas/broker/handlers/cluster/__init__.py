"""What the broker tells of itself and of the cluster."""
