"""pykafka's `pykafka` on Barnabas, as releases 2.3 to 2.8 have it.

Modules have the original's names, and programs import from all of them; what they stand on is in
`_network/`, `_produce/`, `_consume/`, `_balance/` and `_cli/`. docs/pykafka.md says for users what differs.
Must not know other facades of clients.
"""

import logging

from barnabas.compat.pykafka.balancedconsumer import BalancedConsumer
from barnabas.compat.pykafka.broker import Broker
from barnabas.compat.pykafka.client import KafkaClient
from barnabas.compat.pykafka.cluster import Cluster
from barnabas.compat.pykafka.connection import SslConfig
from barnabas.compat.pykafka.managedbalancedconsumer import ManagedBalancedConsumer
from barnabas.compat.pykafka.membershipprotocol import RangeProtocol, RoundRobinProtocol
from barnabas.compat.pykafka.partition import Partition
from barnabas.compat.pykafka.producer import Producer
from barnabas.compat.pykafka.simpleconsumer import SimpleConsumer
from barnabas.compat.pykafka.topic import Topic

__version__ = "2.8.0"

__all__ = [
    "BalancedConsumer",
    "Broker",
    "Cluster",
    "KafkaClient",
    "ManagedBalancedConsumer",
    "Partition",
    "Producer",
    "RangeProtocol",
    "RoundRobinProtocol",
    "SimpleConsumer",
    "SslConfig",
    "Topic",
]

logging.getLogger("pykafka").addHandler(logging.NullHandler())
