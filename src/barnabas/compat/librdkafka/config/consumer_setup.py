"""What the configuration of a Consumer comes to: settings of our core, and what librdkafka has besides.

Knows no client.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from barnabas.compat.librdkafka.config.client_callbacks import ClientCallbacks, client_callbacks
from barnabas.compat.librdkafka.config.configuration import Configuration
from barnabas.compat.librdkafka.config.first_token import with_first_token
from barnabas.settings.table import ConsumerConfig, load
from barnabas.values import frozen


@frozen
class ConsumerSetup:
    """`stores_automatically`: what is given out counts as stored. `commits_automatically`: so it is
    committed, now and then, or (with an interval of 0) only when partitions are given up."""

    config: ConsumerConfig
    callbacks: ClientCallbacks
    stores_automatically: bool
    commits_automatically: bool
    on_commit: Callable[..., Any] | None
    name: str
    address_prefix: str
    topic_blacklist: tuple[str, ...]

    @classmethod
    def of(cls, configuration: Configuration) -> ConsumerSetup:
        """The setup of a consumer configured so."""
        values, callbacks = configuration.values, configuration.callbacks
        settings = {
            "bootstrap_servers": configuration.bootstrap_servers,
            **with_first_token(configuration),
        }
        config = load(ConsumerConfig, settings)
        protocol: str = values["security.protocol"]
        return cls(
            # Offsets are committed by the facade, those that are stored, and not where the core stands.
            config=replace(config, enable_auto_commit=False),
            callbacks=client_callbacks(configuration),
            stores_automatically=values["enable.auto.offset.store"],
            commits_automatically=values["enable.auto.commit"],
            on_commit=callbacks.get("on_commit"),
            name=configuration.instance_name,
            address_prefix="" if protocol == "plaintext" else f"{protocol}://",
            topic_blacklist=values["topic.blacklist"],
        )
