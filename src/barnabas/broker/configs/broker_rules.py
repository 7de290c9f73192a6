"""Which of a broker's settings may be changed while it runs, and to what, in the words of Kafka's refusals.

Owns the rules. What they are asked about is a broker's settings as they would be; whether stores of keys can
be read is for whoever owns listeners to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from barnabas.broker.configs.broker_settings import (
    BROKER_SETTINGS,
    KEYS_AND_TRUST,
    LISTENERS,
    OF_ALL_LISTENERS,
    PER_BROKER,
    PROTOCOL_MAP,
    listener_and_base,
    setting_of,
)
from barnabas.broker.configs.broker_values import BrokerSettings
from barnabas.broker.configs.listener_addresses import check_addresses, unparsed
from barnabas.broker.configs.setting_forms import words_of
from barnabas.broker.configs.setting_kinds import SettingType
from barnabas.broker_errors import InvalidConfigError, InvalidRequestError

_POOLS = (
    *("background.threads", "num.io.threads", "num.network.threads", "num.recovery.threads.per.data.dir"),
    *("num.replica.fetchers", "remote.log.manager.copier.thread.pool.size"),
    *("remote.log.manager.expiration.thread.pool.size", "remote.log.manager.follower.thread.pool.size"),
    "remote.log.reader.threads",
)
_JMX = "org.apache.kafka.common.metrics.JmxReporter"
_CLASSES = frozenset(
    (
        BROKER_SETTINGS["principal.builder.class"].default,
        "org.apache.kafka.common.security.ssl.DefaultSslEngineFactory",
    )
)
_OF_LISTENERS = (PER_BROKER | OF_ALL_LISTENERS) - {"cordoned.log.dirs"}
"""Where one of them changes Kafka looks at all that belongs to its listeners."""
_CLEANER_BYTES = 1 << 20


def not_in_force(reason: str) -> InvalidRequestError:
    """What is said where a value is one, but the broker cannot go over to it."""
    return InvalidRequestError(
        f"Invalid value org.apache.kafka.common.config.ConfigException: {reason} for configuration Invalid "
        "dynamic configuration"
    )


def check_change(settings: BrokerSettings, changed: Mapping[str, str], *, of_all: bool) -> dict[str, str]:
    """The settings of a node, or of all, as they are kept. `settings`: of the node that is asked.

    Raises: InvalidRequestError.
    """
    _refuse(
        (name for name in changed if name in BROKER_SETTINGS and not BROKER_SETTINGS[name].dynamic),
        "Cannot update these configs dynamically",
    )
    _refuse(
        (name for name in changed if name in KEYS_AND_TRUST),
        "These security configs can be dynamically updated only per-listener using the listener prefix",
    )
    kept = {name: _checked(name, value) for name, value in changed.items()}
    if kept.get(LISTENERS) == "":
        raise InvalidRequestError(
            f"Configuration '{LISTENERS}' must not be empty. Valid values include: any non-empty value"
        )
    if of_all:
        _refuse(
            (name for name in changed if _is_of_one_broker(name)),
            "Cannot update these configs at default cluster level, broker id must be specified",
        )
    _Candidate(settings, settings.changed(kept, of_all=of_all)).check()
    return kept


def _refuse(names: Iterable[str], why: str) -> None:
    found = sorted(names)
    if found:
        raise InvalidRequestError(f"{why}: [{', '.join(found)}]")


def _is_of_one_broker(name: str) -> bool:
    parts = listener_and_base(name)
    return name in PER_BROKER if parts is None else parts[1] not in OF_ALL_LISTENERS


def _checked(name: str, value: str) -> str:
    parts = listener_and_base(name)
    setting = setting_of(name) if parts is None else setting_of(parts[1])
    if parts is not None and not setting.dynamic:
        return value
    if setting.type is SettingType.CLASS and value not in _CLASSES:
        raise InvalidRequestError(
            f"Invalid value {value} for configuration {setting.name}: Class {value} could not be found."
        )
    try:
        return setting.check(value)
    except InvalidConfigError as error:
        raise InvalidRequestError(error.context) from None


class _Candidate:
    """All that a node would have, held against what it has."""

    def __init__(self, now: BrokerSettings, then: BrokerSettings) -> None:
        self._then = then
        self._before = before = now.combined()
        self._after = after = then.combined()
        self._changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}

    def check(self) -> None:
        """Raises: InvalidRequestError."""
        self._check_numbers()
        self._check_connections_per_address()
        self._check_log_directories()
        self._check_group_intervals()
        if self._changed & {LISTENERS, PROTOCOL_MAP}:
            check_addresses(self._before, self._after)
        self._check_of_listeners()
        self._check_pools()
        self._check_reporters()
        self._check_local_retention()

    def _number(self, name: str) -> int:
        return _number(self._after, name)

    def _check_numbers(self) -> None:
        threads = self._number("log.cleaner.threads")
        if not threads:
            raise InvalidRequestError("/ by zero")
        if self._number("log.cleaner.dedupe.buffer.size") // threads <= _CLEANER_BYTES:
            raise _unmet("log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.")
        if self._after.get("log.retention.ms") == "0":
            raise _unmet("log.retention.ms must be unlimited (-1) or, greater than or equal to 1")
        for name, least in (("log.roll.ms", 1), ("log.roll.jitter.ms", 0)):
            if name in self._after and self._number(name) < least:
                raise _unmet(f"{name} must be greater than or equal to {least}")

    def _check_connections_per_address(self) -> None:
        name = "max.connections.per.ip"
        overrides = words_of(self._after.get(f"{name}.overrides", ""))
        for word in filter(None, overrides):
            address, colon, most = word.rpartition(":")
            if not colon:
                raise unparsed(f"{name}.overrides", word)
            if not most.removeprefix("-").isdecimal():
                raise InvalidRequestError(f'For input string: "{most}"')
            if "[" in address:
                raise InvalidRequestError(f"{name}.overrides contains invalid addresses : {address}")
        if not self._number(name) and not overrides:
            raise _unmet(f"{name} can be set to zero only if {name}.overrides property is set.")

    def _check_log_directories(self) -> None:
        known = words_of(self._after.get("log.dirs", self._after.get("log.dir", "")))
        cordoned = dict.fromkeys(words_of(self._after.get("cordoned.log.dirs", "")))
        missing = [word for word in cordoned if word not in known]
        if missing and list(cordoned) != ["*"]:
            raise _unmet(
                "All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries : "
                + ", ".join(missing)
            )

    def _check_group_intervals(self) -> None:
        for kind in ("consumer", "share", "streams"):
            name = f"group.{kind}.assignment.interval.ms"
            least, most = (f"group.{kind}.{which}.assignment.interval.ms" for which in ("min", "max"))
            if self._number(name) < self._number(least):
                raise InvalidRequestError(f"{name} must be greater than or equal to {least}")
            if self._number(name) > self._number(most):
                raise InvalidRequestError(f"{name} must be less than or equal to {most}")

    def _check_of_listeners(self) -> None:
        for name in sorted(self._changed & self._after.keys()):
            parts = listener_and_base(name)
            if parts is None or parts[0] not in self._listeners():
                continue
            base = setting_of(parts[1])
            try:
                base.check(self._after[name])
            except InvalidConfigError as error:
                raise not_in_force(error.context) from None
            if base.name not in KEYS_AND_TRUST | OF_ALL_LISTENERS and self._changed & _OF_LISTENERS:
                raise not_in_force(
                    f"Configs cannot be updated dynamically for existing listener "
                    f"ListenerName({parts[0].upper()}), restart broker or create a new listener for update"
                )
        for name in ("max.connections", "max.connection.creation.rate"):
            of_listeners = (f"listener.name.{listener}.{name}" for listener in self._listeners())
            for each in self._changed & self._after.keys() & {name, *of_listeners}:
                if not int(self._after[each]):
                    raise not_in_force(f"Invalid {name} {self._after[each]}")

    def _listeners(self) -> set[str]:
        """Of those that are there now, in lower case."""
        return {word.partition("://")[0].lower() for word in words_of(self._before.get(LISTENERS, ""))}

    def _check_pools(self) -> None:
        for name in sorted(self._changed):
            parts = listener_and_base(name)
            base = name if parts is None else parts[1]
            if base not in _POOLS or (parts is not None and parts[0] not in self._listeners()):
                continue
            count, current = _number(self._after, name), _number(self._before, name)
            refusal = f"Dynamic thread count update validation failed for {base}={count}, value should "
            if count <= 0:
                raise not_in_force(f"{refusal}be at least 1")
            if count < current // 2:
                raise not_in_force(f"{refusal}be at least half the current value {current}")
            if count > current * 2:
                raise not_in_force(f"{refusal}not be greater than double the current value {current}")

        name = "log.cleaner.threads"
        current = _number(self._before, name)
        if self._number(name) < current // 2:
            raise not_in_force(
                f"Log cleaner threads cannot be reduced to less than half the current value {current}"
            )
        if self._number(name) > current * 2:
            raise not_in_force(
                f"Log cleaner threads cannot be increased to more than double the current value {current}"
            )

    def _check_reporters(self) -> None:
        if set(words_of(self._after.get("metric.reporters", ""))) - {_JMX}:
            raise not_in_force(
                "Validation of dynamic config update of Set(metric.reporters) failed with class class "
                "kafka.server.DynamicMetricsReporters"
            )

    def _check_local_retention(self) -> None:
        for of_all, of_local in (
            ("log.retention.ms", "log.local.retention.ms"),
            ("log.retention.bytes", "log.local.retention.bytes"),
        ):
            most, local = self._then.number(of_all), self._then.number(of_local)
            if most < 0 or local == -2:
                continue
            refusal = f"Invalid value {local} for configuration {of_local}: Value must not be "
            if local == -1:
                raise not_in_force(f"{refusal}-1 as {of_all} value is set as {most}.")
            if local > most:
                raise not_in_force(f"{refusal}more than {of_all} property value: {most}")


def _number(values: Mapping[str, str], name: str) -> int:
    """A listener's falls back to that of all."""
    parts = listener_and_base(name)
    if name not in values and parts is not None:
        name = parts[1]
    return int(values[name] if name in values else BROKER_SETTINGS[name].default)


def _unmet(what: str) -> InvalidRequestError:
    return InvalidRequestError(f"requirement failed: {what}")
