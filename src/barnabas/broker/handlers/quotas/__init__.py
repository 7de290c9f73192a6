"""Setting and showing the quotas of clients."""
