# pyright: basic
"""The properties of (de)serializers: read and checked in the original's order, refused in its words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from barnabas.compat.confluent_kafka.schema_registry.common._strategies import (
    STRATEGY_TYPE_MAP,
    SubjectNameStrategyType,
)

STRATEGY = {
    "subject.name.strategy.type": None,
    "subject.name.strategy.conf": None,
    "subject.name.strategy": None,
}


class Subjects(NamedTuple):
    """How subjects are named. `asks`: whether `function` asks a registry, and is given client and `conf`."""

    function: Callable[..., Any]
    asks: bool
    conf: dict[str, Any] | None

    @property
    def is_of_place(self) -> bool:
        """Whether the same topic, field and name always give the same subject: own functions may look at
        headers, or at anything else."""
        return self.asks or self.function in STRATEGY_TYPE_MAP.values()


class Chosen(NamedTuple):
    """Which of a subject's schemas is used, in place of one's own or the writer's."""

    schema_id: int | None
    metadata: dict[str, str] | None
    is_latest: bool

    @property
    def is_any(self) -> bool:
        return self.schema_id is not None or self.metadata is not None or self.is_latest


def checked(value: Any, name: str, kind: type[Any], called: str) -> Any:
    """Raises: ValueError."""
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be {called}")
    return value


def take(conf: dict[str, Any], name: str, kind: type[Any], called: str, *, may_be_none: bool = False) -> Any:
    """A property, which is taken out of `conf`. Raises: ValueError."""
    value = conf.pop(name)
    if value is None and may_be_none:
        return None
    return checked(value, name, kind, called)


def take_flag(conf: dict[str, Any], name: str) -> bool:
    """Raises: ValueError."""
    return take(conf, name, bool, "a boolean value")


def take_callable(conf: dict[str, Any], name: str) -> Callable[..., Any]:
    """Raises: ValueError."""
    value = conf.pop(name)
    if not callable(value):
        raise ValueError(f"{name} must be callable")
    return value


def take_chosen(conf: dict[str, Any], *, auto_register: bool, has_id: bool) -> Chosen:
    """Raises: ValueError."""
    schema_id = take(conf, "use.schema.id", int, "an int value", may_be_none=True) if has_id else None
    is_latest = take_flag(conf, "use.latest.version")
    if is_latest and auto_register:
        raise ValueError("cannot enable both use.latest.version and auto.register.schemas")
    metadata = take(conf, "use.latest.with.metadata", dict, "a dict value", may_be_none=True)
    return Chosen(schema_id, metadata, is_latest)


def refuse_the_rest(conf: dict[str, Any]) -> None:
    """Raises: ValueError, which names what nobody took."""
    if conf:
        raise ValueError(f"Unrecognized properties: {', '.join(conf)}")


def subjects_of(
    associated: Any,
    kind: SubjectNameStrategyType | str | None,
    conf: dict[str, Any] | None,
    function: Callable[..., Any] | None,
) -> Subjects:
    """`associated`: the class of what asks the registry. Raises: ValueError."""
    if function is not None:
        if not callable(function):
            raise ValueError("subject.name.strategy must be callable")
        return Subjects(function, isinstance(function, associated), conf)
    if kind is None:
        return Subjects(associated(), True, conf)
    # A member is a text too, and is read by how it shows itself as one.
    if isinstance(kind, str):
        try:
            kind = SubjectNameStrategyType(kind.upper())
        except ValueError:
            names = [each.value for each in SubjectNameStrategyType]
            raise ValueError(  # noqa: B904  the original names no cause either
                f"Invalid subject.name.strategy.type: {kind}. Valid values are: {names}"
            )
    if kind == SubjectNameStrategyType.ASSOCIATED:
        return Subjects(associated(), True, conf)
    if kind == SubjectNameStrategyType.NONE:
        raise ValueError(
            f"Invalid subject.name.strategy.type: {kind}. NONE cannot be used as a subject name strategy."
        )
    if kind not in STRATEGY_TYPE_MAP:
        raise ValueError(f"Unknown subject.name.strategy.type: {kind}")
    return Subjects(STRATEGY_TYPE_MAP[kind], False, conf)
