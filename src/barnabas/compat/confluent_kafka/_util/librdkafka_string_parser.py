"""Lists in one string, as librdkafka splits them."""

from barnabas.compat.librdkafka.config.key_values import parse_key_values, split

__all__ = ["parse_key_values", "split"]
