"""From `send` to the broker's answer: queues, the sender, transactions."""
