"""SASL mechanisms by their names, where kafka-python 3 has them."""

from barnabas.compat.kafka.sasl import *  # noqa: F403
