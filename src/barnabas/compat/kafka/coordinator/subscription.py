"""What an assignor of generation 2 sees of a member."""

from barnabas.compat.kafka_engine.consume.membership import GroupSubscription as Subscription

__all__ = ["Subscription"]
