"""The configuration of a client as programs for librdkafka give it: a dictionary, arguments, callbacks.

`Configuration.parse` checks it as the real package does, with the same errors, and says what it means here.
Knows nothing of clients at work.
"""
# The constants of KafkaError begin with an underscore, as librdkafka's do, and are there for everyone.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from barnabas.compat.librdkafka.config import aws_iam, client_settings, property_rules
from barnabas.compat.librdkafka.config.property_rules import ClientKind, LogLine, PropertyValues
from barnabas.compat.librdkafka.config.property_values import PropertyError
from barnabas.compat.librdkafka.config.tls_complaints import tls_complaint
from barnabas.compat.librdkafka.values.errors import KafkaError, KafkaException, kafka_error_of
from barnabas.errors import BarnabasError

Callback = Callable[..., Any]

# What failing to make each kind of client is called.
_PRODUCTS: dict[ClientKind, str] = {
    "producer": "producer",
    "consumer": "consumer",
    "share_consumer": "share consumer",
    "admin": "admin client",
}
_KINDS_OF_CALLBACKS: dict[str, type[Exception]] = {
    "error_cb": TypeError,
    "throttle_cb": ValueError,
    "stats_cb": TypeError,
    "oauth_cb": TypeError,
}
_CALLBACKS_OF_KINDS: tuple[tuple[ClientKind, str], ...] = (
    ("producer", "on_delivery"),
    ("consumer", "on_commit"),
    ("share_consumer", "on_commit"),
)
_SET_FIRST = ("debug", "plugin.library.paths")
_numbers = itertools.count(1)


class Configuration:
    """What one client was configured with.

    kind               the kind of client
    values             librdkafka's properties by name, `values["linger.ms"]`, with their defaults
    callbacks          those given: error_cb, throttle_cb, stats_cb, oauth_cb, on_commit, on_delivery
    logger             what log lines go to, or None
    warnings           what librdkafka logs about this configuration
    instance_name      what librdkafka calls the client, in statistics and log lines: rdkafka#producer-1
    bootstrap_servers  where the client of Barnabas begins
    settings           the other arguments of the client of Barnabas
    """

    def __init__(self, kind: ClientKind) -> None:
        self.kind: ClientKind = kind
        self.values = PropertyValues()
        self.callbacks: dict[str, Callback] = {}
        self.logger: Any = None
        self.warnings: list[LogLine] = []
        self.instance_name = ""
        self.bootstrap_servers: list[str] = []
        self.settings: dict[str, Any] = {}

    @classmethod
    def parse(
        cls, kind: ClientKind, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Configuration:
        """The configuration in the arguments of a client's constructor.

        Raises: TypeError, ValueError, KafkaException as the real package does.
        """
        given = _merged(args, kwargs or {})
        configuration = cls(kind)
        if kind in ("consumer", "share_consumer") and "group.id" not in given:
            raise ValueError("Failed to create consumer: group.id must be set")
        if kind == "share_consumer" and "on_commit" in given:
            raise ValueError("on_commit is not supported on ShareConsumer")
        for name in _SET_FIRST:
            if name in given:
                # Of these the original makes a text even of None.
                configuration._set(name, _text(given.pop(name), name))
        if "default.topic.config" in given:
            for_topics = given["default.topic.config"]
            names = for_topics.keys()
            given.update({name: for_topics[name] for name in names})
            del given["default.topic.config"]
        asks_aws = aws_iam.token_callback(given)
        if asks_aws is not None:
            configuration.callbacks["oauth_cb"] = asks_aws
        for name, value in given.items():
            configuration._take(name, value)
        configuration._settle()
        return configuration

    def _take(self, name: Any, value: Any) -> None:
        if name in _KINDS_OF_CALLBACKS:
            if not callable(value):
                raise _KINDS_OF_CALLBACKS[name](f"expected {name} property as a callable function")
            self.callbacks[name] = value
        elif name == "logger":
            self.logger = value
        elif (self.kind, name) in _CALLBACKS_OF_KINDS:
            if not callable(value):
                raise _invalid(f"{name} requires a callable object")
            self.callbacks[name] = value
        else:
            if self.kind == "producer" and name == "delivery.report.only.error" and type(value) is not bool:
                raise TypeError(f"Expected {name} to be bool type, not {type(value).__name__}")
            self._set(_text(name, "name"), value)

    def _set(self, name: str, value: Any) -> None:
        text = None if value is None else _seen_by_c(_text(value, "value"))
        try:
            self.values.set(name, text)
        except PropertyError as error:
            raise _invalid(str(error)) from None

    def _settle(self) -> None:
        """Looks at what was given as a whole, and says what it means."""
        if self.kind in ("consumer", "share_consumer") and not self.values["group.id"]:
            raise ValueError("Failed to create consumer: group.id must be set")
        has_token_callback = "oauth_cb" in self.callbacks
        wrong = property_rules.contradiction(self.kind, self.values, has_token_callback=has_token_callback)
        if wrong is not None:
            raise self._refusal(wrong)
        unusable = tls_complaint(self.values)
        if unusable is not None:
            raise self._refusal(unusable)
        try:
            self.settings = client_settings.settings_of(
                self.kind, self.values, self.callbacks.get("oauth_cb")
            )
            self.bootstrap_servers = client_settings.bootstrap_servers(self.values)
            client_settings.check(self.kind, self.bootstrap_servers, self.settings)
        except BarnabasError as error:
            raise self.creation_error(error) from error
        warnings = property_rules.warnings(self.kind, self.values)
        self.warnings = [line for line in warnings if line.level <= self.values["log_level"]]
        instance = "producer" if self.kind in ("producer", "admin") else "consumer"
        self.instance_name = f"{self.values['client.id']}#{instance}-{next(_numbers)}"

    def creation_error(self, error: BarnabasError) -> Exception:
        """What to raise where the client of Barnabas refuses the settings."""
        return self._refusal(kafka_error_of(error).str())

    def _refusal(self, text: str) -> Exception:
        message = f"Failed to create {_PRODUCTS[self.kind]}: {text}"
        return ValueError(message) if self.kind == "share_consumer" else _invalid(message)


def _merged(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[Any, Any]:
    if len(args) > 1:
        raise TypeError("expected tuple containing single dict")
    positional: Any = args[0] if args else kwargs
    if not isinstance(positional, dict) or not (args or kwargs):
        raise TypeError("expected configuration dict")
    merged: dict[Any, Any] = {**positional}
    merged.update(kwargs)
    return merged


def _text(value: Any, what: str) -> str:
    try:
        return str(value)
    except Exception:
        raise TypeError(f"expected configuration property {what} as type unicode string") from None


def _seen_by_c(text: str) -> str | None:
    """A text up to its first null, and nothing of one that is no Unicode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return None
    return text.partition("\0")[0]


def _invalid(text: str) -> KafkaException:
    return KafkaException(KafkaError(KafkaError._INVALID_ARG, text))
