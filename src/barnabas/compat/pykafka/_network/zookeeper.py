"""Brokers as ZooKeeper knows them, asked by kazoo."""

from __future__ import annotations

import json
import logging
from importlib import import_module
from typing import Any

__all__ = ["brokers_in", "kazoo_client"]

log = logging.getLogger("pykafka.cluster")

_BROKERS = "/brokers/ids"


def kazoo_client() -> Any:
    """kazoo's class of clients. Raises: ImportError, which names the extra that has it."""
    try:
        return import_module("kazoo.client").KazooClient
    except ImportError as error:
        raise ImportError(
            "ZooKeeper needs an extra that is not installed: pip install 'barnabas[pykafka]'"
        ) from error


def brokers_in(zookeeper_hosts: str, timeout_ms: float, tries: int) -> list[tuple[str, int]]:
    """Host and port of each broker; none where ZooKeeper does not answer, or has no brokers there, which is
    logged. Raises: ImportError."""
    zookeeper = kazoo_client()(zookeeper_hosts, timeout=timeout_ms / 1000)
    try:
        try:
            # As long as asking each of them so often would take.
            zookeeper.start(timeout=len(zookeeper_hosts.split(",")) * tries * timeout_ms / 1000)
        except Exception as error:
            log.error("Unable to connect to ZooKeeper instance %s", zookeeper_hosts)
            log.exception(error)
            return []
        found: list[tuple[str, int]] = []
        for broker_id in zookeeper.get_children(_BROKERS):
            data, _ = zookeeper.get(f"{_BROKERS}/{broker_id}")
            broker = json.loads(data.decode())
            found.append((broker["host"], broker["port"]))
        return found
    except Exception as error:
        log.error("Unable to fetch broker info from ZooKeeper")
        log.exception(error)
        return []
    finally:
        zookeeper.stop()
        zookeeper.close()
