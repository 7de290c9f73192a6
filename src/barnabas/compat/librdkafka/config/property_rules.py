"""What librdkafka says of properties that do not go together, or mean nothing to the client they are for.

Owns the values of one client's properties, with librdkafka's defaults. Knows nothing of what they do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Literal

from barnabas.compat.librdkafka.config.properties import PROPERTIES, find
from barnabas.compat.librdkafka.config.property_values import Value, read
from barnabas.values import frozen

ClientKind = Literal["producer", "consumer", "share_consumer", "admin"]

# As in syslog.
LOG_CRITICAL = 2
LOG_ERROR = 3
LOG_WARNING = 4
LOG_NOTICE = 5
LOG_INFO = 6
LOG_DEBUG = 7

_MAX_IN_FLIGHT = "max.in.flight.requests.per.connection"
_LONGEST_FETCH_WAIT_BEFORE_SOCKET_TIMEOUT_MS = 1000
_SASL_USER_MECHANISMS = ("PLAIN", "SCRAM-SHA-1", "SCRAM-SHA-256", "SCRAM-SHA-512")
_ASSIGNORS = {"range": "eager", "roundrobin": "eager", "cooperative-sticky": "cooperative"}

_NOT_FOR_SHARE_CONSUMERS = (
    "enable.auto.commit",
    "group.protocol",
    "socket.max.fails",
    "partition.assignment.strategy",
    "group.instance.id",
    "isolation.level",
    "group.remote.assignor",
    "queued.min.messages",
    "queued.max.messages.kbytes",
    "fetch.queue.backoff.ms",
    "fetch.error.backoff.ms",
    "enable.partition.eof",
    "message.copy.max.bytes",
    "topic.blacklist",
)
_TOPIC_PROPERTIES_NOT_FOR_SHARE_CONSUMERS = ("auto.offset.reset", "consume.callback.max.messages")
_REBALANCE_EVENTS = 0x10
_SET_ON_THE_BROKER = (
    "is not supported for `group.protocol=consumer` or share consumer. It is defined broker side"
)

# What an assertion that is in a file has already.
_NOT_WITH_A_FILE = (
    "private.key.file",
    "private.key.pem",
    "private.key.passphrase",
    "jwt.template.file",
    "claim.sub",
    "claim.aud",
    "claim.iss",
    "claim.jti.include",
    "claim.exp.seconds",
    "claim.nbf.seconds",
)


@frozen
class LogLine:
    """What librdkafka logs: `level` as in syslog, 4 is a warning and 5 a notice."""

    level: int
    facility: str
    text: str


class PropertyValues:
    """The values of a client's properties. One that was not given has librdkafka's default."""

    def __init__(self) -> None:
        self._given: dict[str, Value] = {}

    def set(self, name: str, text: str | None) -> None:
        """Raises: PropertyError."""
        row, value = read(name, text)
        self._given[row.name] = value

    def is_given(self, name: str) -> bool:
        """Whether it was set, be it to its default."""
        row = find(name)
        return row is not None and row.name in self._given

    def __getitem__(self, name: str) -> Any:
        row = find(name)
        if row is None:
            raise KeyError(name)
        return self._given.get(row.name, row.default)

    def given_names(self) -> list[str]:
        """Those that were set, in librdkafka's order."""
        return [name for name in PROPERTIES if name in self._given]

    @property
    def is_idempotent(self) -> bool:
        """Whether the producer is; one with transactions always is."""
        return self["enable.idempotence"] or bool(self["transactional.id"])


def contradiction(kind: ClientKind, values: PropertyValues, *, has_token_callback: bool) -> str | None:
    """The first thing that librdkafka finds wrong with properties that are good each by itself."""
    return next(_contradictions(kind, values, has_token_callback), None)


def _contradictions(kind: ClientKind, values: PropertyValues, has_token_callback: bool) -> Iterator[str]:
    yield from _of_security(values, has_token_callback)
    if kind == "share_consumer":
        yield from _of_share_consumers(values)
    elif kind == "consumer":
        yield from _of_consumers(values)
    else:
        yield from _of_producers(values)
    if values["reconnect.backoff.max.ms"] < values["reconnect.backoff.ms"]:
        yield "`reconnect.backoff.max.ms` must be >= `reconnect.backoff.ms`"
    if kind in ("producer", "admin"):
        yield from _of_topics_of_producers(values)
    if kind != "share_consumer" and not (kind == "consumer" and values["group.protocol"] == "consumer"):
        yield from _of_assignors(values)
    yield from _of_mechanisms(values)


def _of_security(values: PropertyValues, has_token_callback: bool) -> Iterator[str]:
    # One of blanks is given, if empty.
    if values["ssl.keystore.location"] is not None and not values["ssl.keystore.password"]:
        yield "`ssl.keystore.password` is mandatory when `ssl.keystore.location` is set"
    location = values["https.ca.location"]
    if location is not None and values["https.ca.pem"] is not None:
        yield "`https.ca.location` and `https.ca.pem` are mutually exclusive"
    if location is not None and location != "probe" and not os.path.exists(location):
        yield "`https.ca.location` must be an existing file or directory"
    if values["sasl.mechanisms"] == "OAUTHBEARER":
        yield from _of_tokens(values, has_token_callback)


def _of_tokens(values: PropertyValues, has_token_callback: bool) -> Iterator[str]:
    is_unsecured = values["enable.sasl.oauthbearer.unsecure.jwt"]
    if is_unsecured and has_token_callback:
        yield (
            "`enable.sasl.oauthbearer.unsecure.jwt` and `oauthbearer_token_refresh_cb` are mutually exclusive"
        )
    if values["sasl.oauthbearer.method"] != "oidc":
        return
    if is_unsecured:
        yield (
            "`enable.sasl.oauthbearer.unsecure.jwt` and `sasl.oauthbearer.method=oidc` are mutually exclusive"
        )
    metadata_service = values["sasl.oauthbearer.metadata.authentication.type"]
    url = "sasl.oauthbearer.token.endpoint.url"
    if metadata_service == "azure_imds":
        if not values[url] and azure_query(values) is None:
            yield f"`{url}` is mandatory for Azure IMDS authentication when `query` isn't set"
    elif metadata_service == "aws_iam":
        if not has_token_callback:
            name = "sasl.oauthbearer.metadata.authentication.type"
            yield f"`{name}` asks for tokens of AWS where it is the text `aws_iam`, in lower case"
    elif values["sasl.oauthbearer.grant.type"] == "client_credentials":
        for name in (url, "sasl.oauthbearer.client.id", "sasl.oauthbearer.client.secret"):
            if values[name] is None:
                yield f"`{name}` is mandatory when `sasl.oauthbearer.method=oidc` is set"
    else:
        if values[url] is None:
            yield f"`{url}` is mandatory when `sasl.oauthbearer.method=oidc` is set"
        yield from _of_assertions(values)
    if values[url] and not values[url].lower().startswith(("http://", "https://")):
        yield f"`{url}` must be the URL of a server by http or https, not {values[url]!r}"
    if not values["sasl.oauthbearer.sub.claim.name"].strip():
        yield "`sasl.oauthbearer.sub.claim.name` must be non-empty and not contain only whitespace"


def azure_query(values: PropertyValues) -> str | None:
    """What `sasl.oauthbearer.config`, pairs with commas in between, says is to be asked of Azure."""
    for pair in (values["sasl.oauthbearer.config"] or "").strip().split(","):
        name, _, query = pair.partition("=")
        if name == "query":
            return query
    return None


def _of_assertions(values: PropertyValues) -> Iterator[str]:
    prefix = "sasl.oauthbearer.assertion"
    key_file, key_pem = f"{prefix}.private.key.file", f"{prefix}.private.key.pem"
    if values[f"{prefix}.file"]:
        for part in _NOT_WITH_A_FILE:
            if values.is_given(f"{prefix}.{part}") and values[f"{prefix}.{part}"] is not None:
                yield _exclusive(f"{prefix}.file", f"{prefix}.{part}")
    elif values[key_file] and values[key_pem]:
        yield _exclusive(key_file, key_pem)
    elif not values[key_file] and not values[key_pem]:
        name, grant = "sasl.oauthbearer.grant.type", values["sasl.oauthbearer.grant.type"]
        yield f"`{key_file}` or `{key_pem}` is mandatory when `{name}` is set to `{grant}`"


def _exclusive(one: str, other: str) -> str:
    return f"Mutually exclusive properties set. `{one}` and `{other}` cannot both be set"


def _of_consumers(values: PropertyValues) -> Iterator[str]:
    if not 1 <= values["fetch.min.bytes"] <= 100_000_000:
        yield 'Configuration property "fetch.min.bytes" value is outside allowed range 1..100000000'
    if values["group.protocol"] == "classic":
        if values["max.poll.interval.ms"] < values["session.timeout.ms"]:
            yield "`max.poll.interval.ms`must be >= `session.timeout.ms`"
    else:
        yield from _of_brokers_side(values)
    if values.is_given("fetch.max.bytes") and values["fetch.max.bytes"] < values["message.max.bytes"]:
        yield "`fetch.max.bytes` must be >= `message.max.bytes`"
    yield from _of_responses(values)


def _of_brokers_side(values: PropertyValues) -> Iterator[str]:
    if values.is_given("session.timeout.ms"):
        yield f"`session.timeout.ms` {_SET_ON_THE_BROKER}"
    if values.is_given("partition.assignment.strategy"):
        yield (
            "`partition.assignment.strategy` is not supported for `group.protocol=consumer`. Use "
            "`group.remote.assignor` instead"
        )
    if values.is_given("group.protocol.type"):
        yield "`group.protocol.type` is not supported for `group.protocol=consumer` or share consumer"
    if values.is_given("heartbeat.interval.ms"):
        yield f"`heartbeat.interval.ms` {_SET_ON_THE_BROKER}"


def _of_responses(values: PropertyValues) -> Iterator[str]:
    given = values.is_given("receive.message.max.bytes")
    if given and values["receive.message.max.bytes"] < fetch_max_bytes(values) + 512:
        yield "`receive.message.max.bytes` must be >= `fetch.max.bytes` + 512"


def fetch_max_bytes(values: PropertyValues) -> int:
    """The largest answer to a fetch: not above what may wait for the application, nor below one message."""
    if values.is_given("fetch.max.bytes"):
        return values["fetch.max.bytes"]
    waiting = values["queued.max.messages.kbytes"] * 1024
    return max(min(values["fetch.max.bytes"], waiting), values["message.max.bytes"])


def _of_share_consumers(values: PropertyValues) -> Iterator[str]:
    if values["enabled_events"] & _REBALANCE_EVENTS:
        yield "`RD_KAFKA_EVENT_REBALANCE` is not applicable for share consumer"
    for name in _NOT_FOR_SHARE_CONSUMERS:
        if not values.is_given(name):
            continue
        if name == "socket.max.fails":
            yield "`socket.max.fails` must be 1 for share consumer; changing it is not allowed"
        else:
            yield f"`{name}` is not applicable for share consumer"
    if values.is_given("allow.auto.create.topics"):
        yield (
            "allow.auto.create.topics is currently not supported for share consumer and will be enabled in "
            "the General Availability (GA) release"
        )
    for name in _TOPIC_PROPERTIES_NOT_FOR_SHARE_CONSUMERS:
        if values.is_given(name):
            yield f"`{name}` is not applicable for share consumer"
    yield from _of_brokers_side(values)
    yield from _of_responses(values)


def _of_producers(values: PropertyValues) -> Iterator[str]:
    if values["transactional.id"]:
        if values.is_given("enable.idempotence") and not values["enable.idempotence"]:
            yield "`transactional.id` requires `enable.idempotence=true`"
        longest = values["transaction.timeout.ms"] + 100
        if values.is_given("socket.timeout.ms") and values["socket.timeout.ms"] > longest:
            yield "`socket.timeout.ms` must be set <= `transaction.timeout.ms` + 100"
    if values.is_idempotent:
        if values.is_given(_MAX_IN_FLIGHT) and values[_MAX_IN_FLIGHT] > 5:
            yield "`max.in.flight` must be set <= 5 when `enable.idempotence` is true"
        if values["retries"] < 1:
            yield "`retries` must be set >= 1 when `enable.idempotence` is true"
        if values["queue.buffering.backpressure.threshold"] > 1:
            yield (
                "`queue.buffering.backpressure.threshold` must be set to 1 when `enable.idempotence` is true"
            )
    elif values["enable.gapless.guarantee"]:
        yield "`enable.gapless.guarantee` requires `enable.idempotence` to be enabled"


def _of_topics_of_producers(values: PropertyValues) -> Iterator[str]:
    if values.is_idempotent:
        if values["acks"] != -1:
            yield "`acks` must be set to `all` when `enable.idempotence` is true"
        if values["queuing.strategy"] != "fifo":
            yield "`queuing.strategy` must be set to `fifo` when `enable.idempotence` is true"
    timeout = values["message.timeout.ms"]
    if not values.is_given("message.timeout.ms"):
        return
    if values["transactional.id"] and timeout > values["transaction.timeout.ms"]:
        yield "`message.timeout.ms` must be set <= `transaction.timeout.ms`"
    if timeout and values.is_given("linger.ms") and timeout <= values["linger.ms"]:
        yield "`message.timeout.ms` must be greater than `linger.ms`"


def _of_assignors(values: PropertyValues) -> Iterator[str]:
    text: str = values["partition.assignment.strategy"]
    names = assignors(text)
    for name in names or [""]:
        if name not in _ASSIGNORS or values["group.protocol.type"] != "consumer":
            yield f"Unsupported partition.assignment.strategy: {name}"
    if len({_ASSIGNORS[name] for name in names}) > 1:
        yield (
            f"All partition.assignment.strategy ({text}) assignors must have the same protocol type, online "
            "migration between assignors with different protocol types is not supported"
        )


def assignors(text: str) -> list[str]:
    """The names in a list of assignors. Blanks before a name are left out, those behind it belong to it."""
    names: list[str] = []
    while text:
        name, _, text = text.lstrip(" ,").partition(",")
        names.append(name)
    return names


def _of_mechanisms(values: PropertyValues) -> Iterator[str]:
    if not values["security.protocol"].startswith("sasl"):
        return
    mechanism = values["sasl.mechanisms"]
    if mechanism not in (*_SASL_USER_MECHANISMS, "OAUTHBEARER", "GSSAPI"):
        yield f"Unsupported SASL mechanism: {mechanism}"
    lacks_user = values["sasl.username"] is None or values["sasl.password"] is None
    if mechanism in _SASL_USER_MECHANISMS and lacks_user:
        yield "sasl.username and sasl.password must be set"


def warnings(kind: ClientKind, values: PropertyValues) -> list[LogLine]:
    """What librdkafka logs about properties, and about the kind of client, when it makes one of them."""
    lines = [LogLine(LOG_WARNING, "CONFWARN", text) for text in _warnings(kind, values)]
    if not values["bootstrap.servers"]:
        text = "No `bootstrap.servers` configured: client will not be able to connect to Kafka cluster"
        lines.append(LogLine(LOG_NOTICE, "CONFWARN", text))
    if kind == "share_consumer":
        text = 'The share consumer is in "Preview" and is not recommended for production use'
        lines.append(LogLine(LOG_WARNING, "SHARECONSUMER", text))
    return lines


def _warnings(kind: ClientKind, values: PropertyValues) -> Iterator[str]:
    own, instance = ("P", "producer") if kind in ("producer", "admin") else ("C", "consumer")
    for name in values.given_names():
        row = PROPERTIES[name]
        if row.note is not None:
            yield f"Configuration property {name} is {row.note}: No longer used."
        if row.scope not in ("*", own):
            other = "producer" if row.scope == "P" else "consumer"
            yield (
                f"Configuration property {name} is a {other} property and will be ignored by this {instance} "
                "instance"
            )
    yield from _of_backoffs(values)
    wait, timeout = values["fetch.wait.max.ms"], values["socket.timeout.ms"]
    if own == "C" and wait + _LONGEST_FETCH_WAIT_BEFORE_SOCKET_TIMEOUT_MS > timeout:
        yield (
            f"Configuration property `fetch.wait.max.ms` ({wait}) should be set lower than "
            f"`socket.timeout.ms` ({timeout}) by at least 1000ms to avoid blocking and timing out "
            "sub-sequent requests"
        )
    yield from _of_unused_credentials(values)


def _of_backoffs(values: PropertyValues) -> Iterator[str]:
    longest = values["retry.backoff.max.ms"]
    for name in ("retry.backoff.ms", "topic.metadata.refresh.fast.interval.ms"):
        if values[name] > longest:
            yield (
                f"Configuration `{name}` with value {values[name]} is greater than configuration "
                f"`retry.backoff.max.ms` with value {longest}. A static backoff with value "
                "`retry.backoff.max.ms` will be applied."
            )


def _of_unused_credentials(values: PropertyValues) -> Iterator[str]:
    mechanism = values["sasl.mechanisms"]
    if values.is_given("sasl.mechanisms") and not values["security.protocol"].startswith("sasl"):
        yield (
            f"Configuration property `sasl.mechanism` set to `{mechanism}` but `security.protocol` is not "
            "configured for SASL: recommend setting `security.protocol` to SASL_SSL or SASL_PLAINTEXT"
        )
    if values["sasl.username"] and mechanism not in _SASL_USER_MECHANISMS:
        yield (
            "Configuration property `sasl.username` only applies when `sasl.mechanism` is set to PLAIN or "
            "SCRAM-SHA-.."
        )
