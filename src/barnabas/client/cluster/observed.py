"""What every client, for asyncio or for plain calls, has besides its work: what it lets others see of it, and
whom it connects as. Owns no figures, no events and no credentials.
"""

from __future__ import annotations

from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.events import EventListener
from barnabas.steps import StepListener


class Observed:
    """The part that all clients have in common. A client sets this attribute."""

    _client: KafkaClient

    def __repr__(self) -> str:
        config = self._client.config
        state = "closed" if self._client.is_closed else self._doing()
        servers = ",".join(config.bootstrap_servers)
        return f"<{type(self).__name__} {config.client_id!r} of {servers}: {state}>"

    def _doing(self) -> str:
        """What an open client does, for its repr."""
        return "open"

    @property
    def kafka_client(self) -> KafkaClient:
        """The connections beneath. Belongs to the event loop's thread."""
        return self._client

    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Connections that are opened from now on, and those that re-authenticate (KIP-368), use these
        credentials; connections that are open stay. On any thread.

        Raises: MisuseError unless sasl_mechanism is PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.
        """
        self._client.security.set_credentials(username, password)

    def add_event_listener(self, listener: EventListener) -> None:
        """`listener(event)` is called with each `barnabas.events.Event` of this client from now on: on the
        event loop's thread, which it holds up, so it should be quick and must not wait for the client. What
        it raises is logged."""
        self._client.events.add(listener)

    def remove_event_listener(self, listener: EventListener) -> None:
        """`listener` is not called any more. Nothing happens if it was not added."""
        self._client.events.remove(listener)

    def follow(self, listener: StepListener) -> None:
        """`listener(step)` is called with each `barnabas.steps.Step` of this client from now on, as listeners
        of events are. While anyone follows, each request goes through the event loop, which costs
        throughput."""
        self._client.steps.add(listener)

    def unfollow(self, listener: StepListener) -> None:
        """`listener` is not called any more. Nothing happens if it did not follow."""
        self._client.steps.remove(listener)
