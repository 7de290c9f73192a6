"""The broker's loggers under the names that Kafka's have (KIP-412), and their levels.

Owns which of Python's loggers stands for which of Kafka's. A level lasts as long as the process.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

ROOT = "root"
_LOGGERS: Mapping[str, logging.Logger] = {
    name: logging.getLogger(ours)
    for name, ours in {
        "kafka.coordinator.transaction.TransactionCoordinator": "barnabas.broker.transactions",
        "kafka.log.LogCleaner": "barnabas.broker.log.compaction",
        "kafka.log.LogManager": "barnabas.broker.log.manager",
        "kafka.network.SocketServer": "barnabas.net.server",
        "kafka.server.BrokerServer": "barnabas.broker.server",
        "kafka.server.KafkaApis": "barnabas.broker.handlers",
        "kafka.server.ReplicaManager": "barnabas.broker.cluster",
        "org.apache.kafka.coordinator.group.GroupCoordinatorService": "barnabas.broker.groups",
        ROOT: "barnabas",
    }.items()
}
NAMES = tuple(_LOGGERS)
LEVELS: Mapping[str, int] = {
    "TRACE": 5,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}


def level(name: str) -> str:
    """The level that counts for the logger, its own or that of one above it."""
    number = _LOGGERS[name].getEffectiveLevel()
    return next((word for word in reversed(tuple(LEVELS)) if LEVELS[word] <= number), "TRACE")


def own_levels() -> dict[str, str]:
    """Of those that have one of their own, which the root always has."""
    return {name: level(name) for name, logger in _LOGGERS.items() if logger.level or name == ROOT}


def set_levels(levels: Mapping[str, str]) -> None:
    """The rest have none of their own afterwards."""
    for name, logger in _LOGGERS.items():
        if name in levels and level(name) != levels[name]:
            logger.setLevel(LEVELS[levels[name]])
        elif name not in levels:
            logger.setLevel(logging.NOTSET)
