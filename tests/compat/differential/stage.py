"""What a script works with besides the module: names, topics with records in them, a record of what it saw.

Owns the recording, and what is closed after the script. Topics and their records are made with Barnabas's
native clients, on both sides alike. Must not know which library runs.
"""

from __future__ import annotations

import contextlib
import importlib
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from tests.compat.differential.description import Describer
from tests.share_groups import begin_at_the_first_record
from tests.waiting import Patience, pause, wait_for

import barnabas
from barnabas.broker_errors import UnknownTopicOrPartitionError
from barnabas.compat.librdkafka.config.properties import PROPERTIES
from barnabas.testing import ApacheKafka, EmbeddedBroker, KafkaProxy
from barnabas.testing.secure_listeners import SUPER_USER

FIRST_TIMESTAMP_MS = 1_600_000_000_000
GIVE_UP_SECONDS = 45.0
# For calls that are to succeed: longer than a machine with much else to do takes.
WAIT = 40
UNREACHABLE = "127.0.0.1:1"


class House:
    """The native clients that prepare what scripts of either side find on one broker. `security`: their
    settings of that kind."""

    def __init__(self, bootstrap: str, **security: Any) -> None:
        self.bootstrap = bootstrap
        self._admin = barnabas.Admin(bootstrap, **security)
        self._producer = barnabas.Producer(bootstrap, linger_ms=0, allow_auto_create_topics=False, **security)
        self._lock = threading.Lock()
        self._limited: dict[barnabas.ClientQuotaEntity, dict[str, float | None]] = {}

    @classmethod
    def of(cls, broker: ApacheKafka | EmbeddedBroker) -> House:
        """Of a broker that has started."""
        if not isinstance(broker, ApacheKafka) or broker.security is None:
            return cls(broker.bootstrap)
        return cls(
            broker.bootstrap_for("SASL_PLAINTEXT"),
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="PLAIN",
            sasl_username=SUPER_USER,
            sasl_password=broker.security.users[SUPER_USER],
        )

    def create_topic(self, name: str, partitions: int, configs: dict[str, str]) -> None:
        with self._lock:
            self._admin.create_topics([barnabas.NewTopic(name, num_partitions=partitions, configs=configs)])
            patience = Patience(GIVE_UP_SECONDS)
            while self._partition_count(name) < partitions:
                patience.pause(f"topic {name} was created and does not appear")

    def delete_topic(self, name: str) -> None:
        with self._lock:
            self._admin.delete_topics([name])
            wait_for(lambda: self._partition_count(name) == 0)

    def _partition_count(self, topic: str) -> int:
        try:
            return len(self._admin.describe_topics([topic])[topic].partitions)
        except UnknownTopicOrPartitionError:
            return 0

    def fill(self, topic: str, partition: int, records: Sequence[tuple[Any, Any, Any]]) -> None:
        with self._lock:
            for index, (key, value, headers) in enumerate(records):
                self._producer.send(
                    topic,
                    value,
                    key=key,
                    headers=headers,
                    partition=partition,
                    timestamp=FIRST_TIMESTAMP_MS + index,
                )
            self._producer.flush()

    def limit_client(self, client_id: str, **bytes_per_second: float) -> None:
        """`producer_byte_rate`, `consumer_byte_rate`."""
        with self._lock:
            entity = barnabas.ClientQuotaEntity({"client-id": client_id})
            self._limited[entity] = dict.fromkeys(bytes_per_second)
            self._admin.alter_client_quotas({entity: bytes_per_second})
            exactly = barnabas.ClientQuotaFilter("client-id", barnabas.QuotaMatch.EXACT, client_id)
            wait_for(lambda: self._admin.describe_client_quotas([exactly]) == {entity: bytes_per_second})

    def close(self) -> None:
        if self._limited:
            self._admin.alter_client_quotas(self._limited)
        self._admin.close()
        self._producer.close()


class Stage:
    """One run of one script with one library."""

    def __init__(self, library: ModuleType, house: House | None) -> None:
        self.seen: list[Any] = []
        self.bootstrap = UNREACHABLE if house is None else house.bootstrap
        self._house = house
        self._library = library
        self._names: dict[str, str] = {self.bootstrap: "<bootstrap>"}
        port = self.bootstrap.rpartition(":")[2]
        if house is not None:
            self._names[port] = "<port>"
        self._describer = Describer(self._names)
        self._thread = threading.get_ident()
        self._call: str | None = None
        self._to_close: list[Callable[[], object]] = []

    # names

    def name(self, kind: str) -> str:
        """A name that nothing else has, recorded as `<kind>`, and numbered if there are several."""
        chosen = f"{kind}-{uuid.uuid4().hex[:12]}"
        taken = sum(1 for called in self._names.values() if called.startswith(f"<{kind}"))
        self._names[chosen] = f"<{kind}>" if taken == 0 else f"<{kind} {taken + 1}>"
        return chosen

    def call(self, name: str, called: str) -> None:
        """Records `name`, which this run made up, as `called`."""
        self._names[name] = called

    def group(self) -> str:
        return self.name("group")

    def share_group(self, **configs: str) -> str:
        """A share group that starts with the first records. Configs are named with underscores for dots."""
        assert self._house is not None
        group = self.name("group")
        begin_at_the_first_record(self.bootstrap, group, **configs)
        return group

    def limited_client(self, **bytes_per_second: float) -> str:
        """The id of a client whose `producer_byte_rate` or `consumer_byte_rate` is limited."""
        assert self._house is not None
        client_id = self.name("client")
        self._house.limit_client(client_id, **bytes_per_second)
        return client_id

    def topic(self, partitions: int = 1, **configs: str) -> str:
        """A fresh topic. Configs are named with underscores for dots."""
        assert self._house is not None, "this script said that it needs no broker"
        name = self.name("topic")
        self._house.create_topic(
            name, partitions, {key.replace("_", "."): value for key, value in configs.items()}
        )
        return name

    def delete(self, topic: str) -> None:
        assert self._house is not None
        self._house.delete_topic(topic)

    def create(self, name: str) -> None:
        """A topic of a name that the script had before."""
        assert self._house is not None
        self._house.create_topic(name, 1, {})

    def filled_topic(self, *values: bytes | str | None, partitions: int = 1) -> str:
        """A topic with these values in partition 0, without keys, a millisecond apart."""
        name = self.topic(partitions)
        self.fill(name, *values)
        return name

    def fill(self, topic: str, *values: bytes | str | None, partition: int = 0) -> None:
        encoded = [value.encode() if isinstance(value, str) else value for value in values]
        self.fill_records(topic, *((None, value, None) for value in encoded), partition=partition)

    def fill_at_once(self, topic: str, count: int, partition: int = 0) -> None:
        """One batch of so many records."""
        assert self._house is not None
        with barnabas.Producer(self.bootstrap, linger_ms=60_000, batch_size=1_000_000) as producer:
            for index in range(count):
                producer.send(topic, b"%d" % index, partition=partition)

    def fill_records(self, topic: str, *records: tuple[Any, Any, Any], partition: int = 0) -> None:
        """`records`: key, value and headers of each."""
        assert self._house is not None
        self._house.fill(topic, partition, records)

    def module(self, name: str) -> ModuleType:
        """A submodule of the library, such as `admin`."""
        return importlib.import_module(f"{self._library.__name__}.{name}")

    def property_names(self) -> list[str]:
        """Those of all that librdkafka has, aliases too, of one table for both libraries."""
        return list(PROPERTIES)

    # what was seen

    def record(self, label: str, value: Any) -> None:
        """Without a lock, which a stray exception of an extension module could leave locked."""
        described = self._describer.describe(value)
        self.seen.append((self._describer.text(label), described))

    def attempt(self, label: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Records what the call returned or raised; returns its result, or None if it raised."""
        outer, self._call = self._call, label
        try:
            result = call(*args, **kwargs)
        except Exception as error:
            self.record(label, error)
            return None
        finally:
            self._call = outer
        self.record(label, result)
        return result

    def within(self, label: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Like `attempt`, for a call whose result differs by chance: only what it raises is recorded."""
        outer, self._call = self._call, label
        try:
            return call(*args, **kwargs)
        except Exception as error:
            self.record(label, error)
            return None
        finally:
            self._call = outer

    def text(self, value: Any) -> str:
        return self._describer.text(str(value))

    def callback(
        self,
        label: str,
        *,
        then: Callable[..., Any] | None = None,
        raises: BaseException | None = None,
        leaving_out: Sequence[type] = (),
        until: Callable[[], bool] = lambda: False,
    ) -> Callable[..., Any]:
        """A function that records its arguments, in which call it was called, and whether in the caller's
        thread. `then` is called with the arguments, and its result returned. Nothing is done any more once
        `until` gives True."""

        def called(*args: Any, **kwargs: Any) -> Any:
            if until():
                return None
            thread = "caller's thread" if threading.get_ident() == self._thread else "another thread"
            kept = [
                f"<{type(argument).__name__}>" if isinstance(argument, tuple(leaving_out)) else argument
                for argument in args
            ]
            self.record(f"{label} within {self._call}, {thread}", [*kept, kwargs] if kwargs else kept)
            if raises is not None:
                raise raises
            return then(*args, **kwargs) if then is not None else None

        return called

    # clients, closed after the script

    def producer(self, **settings: Any) -> Any:
        """A Producer. Settings are named with underscores for dots."""
        producer = self._library.Producer(self._common() | dotted(settings))
        self.closing(lambda: (producer.purge(), producer.flush(1), producer.close()))
        return producer

    def consumer(self, **settings: Any) -> Any:
        """A Consumer that reads from the beginning and commits nothing by itself, but for `settings`."""
        defaults = self._common() | {
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 50,
        }
        if "group_id" not in settings:
            defaults["group.id"] = self.group()
        consumer = self._library.Consumer(defaults | dotted(settings))
        self.closing(consumer.close)
        return consumer

    def share_consumer(self, **settings: Any) -> Any:
        defaults = self._common() | {"group.id": "group"}
        consumer = self._library.ShareConsumer(defaults | dotted(settings))
        self.closing(consumer.close)
        return consumer

    def admin(self, **settings: Any) -> Any:
        return self.module("admin").AdminClient(self._common() | dotted(settings))

    def reader(self, topic: str, partition: int = 0, offset: int = 0, **settings: Any) -> Any:
        """A consumer to which one partition is assigned."""
        consumer = self.consumer(**settings)
        consumer.assign([self._library.TopicPartition(topic, partition, offset)])
        return consumer

    def _common(self) -> dict[str, Any]:
        """A script without a broker gets no address either: what cannot be connected to makes events at
        times of its own."""
        servers = {} if self._house is None else {"bootstrap.servers": self.bootstrap}
        return servers | {"log_level": 0}

    def delayed(self, seconds: float, *apis: str) -> str:
        """An address of the same cluster that has some requests wait: what a program does in the meantime
        comes before their answers, however slow the machine is just then."""
        proxy = KafkaProxy(self.bootstrap).start()
        self.closing(proxy.close)
        proxy.faults.delay(apis, ms=1000 * seconds)
        return proxy.bootstrap

    def closing(self, close: Callable[[], object]) -> None:
        """Calls `close` after the script, whatever it raises."""
        self._to_close.append(close)

    def close(self) -> None:
        while self._to_close:
            with contextlib.suppress(Exception):
                self._to_close.pop()()

    # waiting

    def until(
        self,
        condition: Callable[[], Any],
        step: Callable[[], Any] = pause,
        *,
        timeout: float = GIVE_UP_SECONDS,
    ) -> bool:
        """Repeats `step` until `condition`; records that it gave up, which no script should."""
        deadline = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > deadline:
                self.record("gave up waiting for", getattr(condition, "__name__", "a condition"))
                return False
            step()
        return True

    def messages(self, consumer: Any, count: int) -> list[Any]:
        """What `poll` gives, up to `count` messages and errors."""
        found: list[Any] = []

        def step() -> None:
            message = consumer.poll(0.2)
            if message is not None:
                found.append(message)

        outer, self._call = self._call, "poll"
        try:
            self.until(lambda: len(found) >= count, step)
        finally:
            self._call = outer
        return found

    def values(self, consumer: Any, count: int) -> None:
        """Records the values, or the errors, of the next messages."""
        for message in self.messages(consumer, count):
            self.record("message", message.error() or message.value())

    def poll_until(self, client: Any, condition: Callable[[], Any]) -> None:
        """Polls a client, whose callbacks are recorded, until `condition`. Messages are recorded as well."""

        def step() -> None:
            result = client.poll(0.1)
            if result is not None and not isinstance(result, int):
                self.record("message", result)

        outer, self._call = self._call, "poll"
        try:
            self.until(condition, step)
        finally:
            self._call = outer

    def recorded(self, label: str, count: int = 1) -> Callable[[], bool]:
        """Whether there are so many records whose label begins with `label`."""
        return lambda: sum(1 for seen, _ in list(self.seen) if seen.startswith(label)) >= count


def dotted(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings by librdkafka's names. Some names have underscores of their own."""
    kept = (
        "error_cb",
        "stats_cb",
        "throttle_cb",
        "oauth_cb",
        "on_commit",
        "on_delivery",
        "log_cb",
        "log_level",
    )
    return {name if name in kept else name.replace("_", "."): value for name, value in settings.items()}
