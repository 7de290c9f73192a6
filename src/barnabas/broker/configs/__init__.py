"""Settings of all kinds: what one is, and those of groups, subscriptions to metrics and loggers."""
