"""What a source's use of kafka-python breaks or changes with, out of the tables of generations.

Each function answers for one thing that a source does. Knows no syntax trees but the arguments of calls.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from barnabas.compat.kafka_engine.generations import GENERATIONS
from barnabas.compat.kafka_engine.generations.errors import SAME_ERRORS
from barnabas.compat.kafka_engine.generations.settings import (
    ABSENT,
    PROVIDED,
    SETTINGS,
    UNKNOWN_SETTING_ERRORS,
)
from barnabas.migrate import inventory
from barnabas.migrate.calls import UNKNOWN, GivenArguments
from barnabas.migrate.findings import Effect
from barnabas.migrate.rules.change import KAFKA_4
from barnabas.migrate.rules.kafka_python import (
    INSTEAD,
    INSTEAD_OF_MODULES,
    OVERRIDABLE,
)

__all__ = ["ORDER", "Said", "call", "construction", "indexed", "mention", "method", "override"]

ORDER = tuple(GENERATIONS)

# Kafka 4 took away what clients before 0.11 speak: Produce before version 3, Fetch before 4.
_OLDEST_FOR_KAFKA_4 = (0, 11)
_TAKES_API_VERSION = ("KafkaConsumer", "KafkaProducer", "KafkaAdminClient", "KafkaClient", "BrokerConnection")
# They name or say what the program does not see, or are the same by another value.
_DEFAULTS_THAT_DO_NOT_MATTER = (
    "client_id",
    "selector",
    "socket_options",
    "api_version",
    "consumer_timeout_ms",
)


@dataclass(frozen=True)
class Said:
    """What is to be said of a place."""

    effect: Effect
    with_: str
    reason: str
    instead: str = ""


def _name_of(generation: str) -> str:
    return f"kafka-python {generation}"


def mention(module: str, name: str | None, newer: str) -> Said | None:
    """Of an import, or a name of a module."""
    of = inventory.names(module)
    before = ORDER[: ORDER.index(newer)]
    if newer not in of:
        had = [each for each in before if each in of]
        if not had:
            return None
        since = inventory.first_with({each: each not in of for each in ORDER}, had[-1], newer)
        instead = "" if name is None else _instead_of(name, newer)
        return Said(
            Effect.BREAKS,
            _name_of(since),
            f"there is no module {module}",
            instead or INSTEAD_OF_MODULES.get(module, ""),
        )
    if name is None or name in of[newer] or f"{module}.{name}" in inventory.modules(newer):
        return None
    had = [each for each in before if name in of.get(each, ())]
    if not had:
        return _submodule(f"{module}.{name}", newer)
    since = inventory.first_with({each: name not in of.get(each, ()) for each in ORDER}, had[-1], newer)
    return Said(Effect.BREAKS, _name_of(since), f"{module} has no {name}", _instead_of(name, newer))


def _submodule(module: str, newer: str) -> Said | None:
    is_one = any(module in inventory.modules(each) for each in ORDER)
    return mention(module, None, newer) if is_one else None


def _instead_of(name: str, newer: str) -> str:
    errors = {row.name for row in GENERATIONS[newer].errors}
    same = [each for group in SAME_ERRORS if name in group for each in group if each in errors]
    if same:
        return f"kafka.errors.{same[0]}"
    if name in INSTEAD:
        return INSTEAD[name]
    if name in errors:
        return f"kafka.errors.{name}"
    if name in {row.name for row in GENERATIONS[newer].structs}:
        return f"kafka.structs.{name}"
    found = inventory.homes(name, newer)
    return f"{found[0]}.{name}" if found else ""


def method(of: str, name: str, newer: str) -> Said | None:
    """Of a method or attribute of an object."""
    there = inventory.shape(of, name)
    before = [each for each in ORDER[: ORDER.index(newer)] if each in there]
    if not there or newer in there or not before:
        return None
    if _is_gone(of, newer):
        return None
    since = inventory.first_with({each: each not in there for each in ORDER}, before[-1], newer)
    return Said(Effect.BREAKS, _name_of(since), f"{of} has no {name}", INSTEAD.get(f"{of}().{name}", ""))


def _is_gone(of: str, newer: str) -> bool:
    """Whether no module of the newer generation has the class; that is told of where it is imported."""
    known = any(inventory.homes(of, each) for each in ORDER)
    return known and not inventory.homes(of, newer)


def call(of: str, name: str, given: GivenArguments, older: str, newer: str) -> Iterator[Said]:
    """Of a call's arguments, where both generations have what is called."""
    shapes = inventory.shape(of, name)
    if older not in shapes or newer not in shapes or shapes[older] == shapes[newer]:
        return
    was, is_now = inventory.signature(shapes[older]), inventory.signature(shapes[newer])
    if was is None or is_now is None:
        return
    since = _name_of(
        inventory.first_with({each: shapes.get(each) == shapes[newer] for each in ORDER}, older, newer)
    )
    shown = of if name == "__init__" else name
    for at in range(len(given.positional)):
        old = was.positional[at] if at < len(was.positional) else None
        new = is_now.positional[at] if at < len(is_now.positional) else None
        if new is None and not is_now.takes_more:
            most = len(is_now.positional)
            reason = f"{shown} takes {most} arguments by position, and not {len(given.positional)}"
            yield Said(Effect.BREAKS, since, reason, _shown(shapes[newer], shown))
            return
        if old is not None and new is not None and old != new and old in is_now.keywords:
            reason = f"argument {at + 1} of {shown} was {old} and is {new}"
            yield Said(Effect.BREAKS, since, reason, f"{old}=...")
            return
    for keyword in given.named:
        if keyword not in is_now.keywords and not is_now.takes_more_keywords and keyword in was.keywords:
            reason = f"{shown} takes no {keyword}"
            yield Said(Effect.BREAKS, since, reason, _shown(shapes[newer], shown))
    if given.is_complete:
        by_position = set(is_now.positional[: len(given.positional)])
        missing = sorted(is_now.required - by_position - set(given.named))
        if missing and not was.required - set(was.positional[: len(given.positional)]) - set(given.named):
            reason = f"{shown} wants {', '.join(missing)} as well"
            yield Said(Effect.BREAKS, since, reason, _shown(shapes[newer], shown))


def _shown(shape: str, name: str) -> str:
    return f"{name}({', '.join(each.replace('=', '=...') for each in shape[1:-1].split())})"


def construction(of: str, given: GivenArguments, older: str, newer: str) -> Iterator[Said]:
    """Of making an object of a class."""
    yield from call(of, "__init__", given, older, newer)
    yield from _struct(of, given, older, newer)
    if of in SETTINGS:
        yield from _settings(of, given, older, newer)
    if of in _TAKES_API_VERSION:
        yield from _api_version(given)


def _struct(of: str, given: GivenArguments, older: str, newer: str) -> Iterator[Said]:
    rows = {each.name: {row.name: row for row in each.structs}.get(of) for each in GENERATIONS.values()}
    was, is_now = rows[older], rows[newer]
    if was is None or is_now is None or was.fields == is_now.fields or not given.is_complete:
        return
    given_names = {*is_now.fields[: len(given.positional)], *given.named}
    missing = [
        each for each in is_now.fields[: len(is_now.fields) - len(is_now.defaults)] if each not in given_names
    ]
    since = _name_of(inventory.first_with({name: row == is_now for name, row in rows.items()}, older, newer))
    if missing:
        reason = f"{of} has the fields {', '.join(is_now.fields)}, and all have to be given"
        yield Said(Effect.BREAKS, since, reason, ", ".join(f"{each}=-1" for each in missing))


def _settings(of: str, given: GivenArguments, older: str, newer: str) -> Iterator[Said]:
    table = SETTINGS[of]
    was, is_now = ORDER.index(older), ORDER.index(newer)
    for name in given.named:
        defaults = table.get(name)
        deprecated = _deprecated(of, name)
        if defaults is None or defaults[is_now] is not ABSENT:
            continue
        if defaults[was] is ABSENT and older != deprecated:
            continue
        gone = {each: defaults[at] is ABSENT and each != deprecated for at, each in enumerate(ORDER)}
        since = newer if newer == deprecated else inventory.first_with(gone, older, newer)
        yield _setting_gone(of, name, _name_of(since), newer)
    yield from _times_that_contradict(of, given, older, newer)
    changed = [
        f"{name} was {_value(defaults[was])} and is {_value(defaults[is_now])}"
        for name, defaults in table.items()
        if name not in given.named
        and name not in _DEFAULTS_THAT_DO_NOT_MATTER
        and not {id(defaults[was]), id(defaults[is_now])} & {id(ABSENT), id(PROVIDED)}
        and defaults[was] != defaults[is_now]
    ]
    if changed:
        since = inventory.first_with(
            {each: all(row[ORDER.index(each)] == row[is_now] for row in table.values()) for each in ORDER},
            older,
            newer,
        )
        unless = "" if given.is_complete else ", where ** does not give them"
        yield Said(
            Effect.CHANGES,
            _name_of(since),
            f"defaults that are not given here{unless}: {'; '.join(changed)}",
            "give those that the program counts on",
        )


def _times_that_contradict(of: str, given: GivenArguments, older: str, newer: str) -> Iterator[Said]:
    """Timeouts that a consumer refuses together, as given or by default."""
    if of != "KafkaConsumer" or not given.is_complete:
        return

    def refused(generation: str, shorter: str, longer: str, wanted: bool) -> bool:
        found: list[float] = []
        for name in (shorter, longer):
            value = given.named.get(name, SETTINGS[of][name][ORDER.index(generation)])
            if not wanted or not isinstance(value, int | float):
                return False
            found.append(value)
        return found[0] >= found[1]

    for shorter, longer, is_wanted in (
        ("session_timeout_ms", "request_timeout_ms", "requests_outlast_sessions"),
        ("fetch_max_wait_ms", "request_timeout_ms", "connections_outlast_requests"),
        ("request_timeout_ms", "connections_max_idle_ms", "connections_outlast_requests"),
    ):
        if shorter == "session_timeout_ms" and given.named.get("group_id") is None:
            continue
        of_each = {
            each: refused(each, shorter, longer, bool(getattr(GENERATIONS[each], is_wanted)))
            for each in ORDER
        }
        if of_each[newer] and not of_each[older]:
            reason = f"it refuses a {shorter} that is not below {longer} with KafkaConfigurationError"
            since = inventory.first_with(of_each, older, newer)
            yield Said(Effect.BREAKS, _name_of(since), reason, f"a greater {longer}")


def indexed(message: str, version: int, older: str, newer: str) -> Said | None:
    """Of taking a request or response of kafka.protocol by its version."""
    was, is_now = GENERATIONS[older].messages_are_unversioned, GENERATIONS[newer].messages_are_unversioned
    if was or not is_now or not message.endswith(("Request", "Response")):
        return None
    since = inventory.first_with(
        {name: each.messages_are_unversioned for name, each in GENERATIONS.items()}, older, newer
    )
    reason = f"{message} is a class whose objects have a version, and no list by version"
    return Said(Effect.BREAKS, _name_of(since), reason, f"{message}(version={version}, ...)")


def _deprecated(of: str, name: str) -> str | None:
    """The generation that takes a setting, warns of it and does nothing with it."""
    for each in GENERATIONS.values():
        if of == "KafkaProducer" and name in each.deprecated_producer_settings:
            return each.name
    return None


def _setting_gone(of: str, name: str, since: str, newer: str) -> Said:
    if _deprecated(of, name) == newer:
        return Said(
            Effect.CHANGES, since, f"{name} does nothing, and is a DeprecationWarning", "leave it out"
        )
    errors = UNKNOWN_SETTING_ERRORS.get(of)
    if errors is None:
        return Said(Effect.CHANGES, since, f"{of} ignores {name}", "leave it out")
    reason = f"{of} refuses {name} with {errors[ORDER.index(newer)]}"
    return Said(Effect.BREAKS, since, reason, _SETTINGS_INSTEAD.get(name, "leave it out"))


_SETTINGS_INSTEAD: Mapping[str, str] = {
    "api_version_auto_timeout_ms": "bootstrap_timeout_ms",
    "sock_chunk_bytes": "leave it out; receive_buffer_bytes is the socket's",
    "sock_chunk_buffer_count": "leave it out; receive_buffer_bytes is the socket's",
}


def _value(value: object) -> str:
    return str(value) if isinstance(value, float) else repr(value)


def _api_version(given: GivenArguments) -> Iterator[Said]:
    version = given.named.get("api_version", UNKNOWN)
    text = ".".join(map(str, cast("tuple[object, ...]", version))) if isinstance(version, tuple) else version
    if not isinstance(text, str) or not all(part.isdecimal() for part in text.split(".")):
        return
    if tuple(map(int, text.split("."))) >= _OLDEST_FOR_KAFKA_4:
        return
    yield Said(
        Effect.BREAKS,
        KAFKA_4,
        f"a client that keeps to what brokers of {text} speak gets no answer to Produce and Fetch: sends "
        "time out, and a consumer reads nothing",
        "leave api_version out",
    )


def override(of: str, node: ast.FunctionDef | ast.AsyncFunctionDef, older: str, newer: str) -> Said | None:
    """Of a method that a class of the source defines over one of kafka-python's."""
    shapes = inventory.shape(of, node.name)
    if of not in OVERRIDABLE or newer not in shapes or shapes.get(older) == shapes[newer]:
        return None
    is_now = inventory.signature(shapes[newer])
    taken = len(node.args.posonlyargs) + len(node.args.args) - 1
    if is_now is None or node.args.vararg or node.name == "__init__" or taken == len(is_now.positional):
        return None
    since = inventory.first_with({each: shapes.get(each) == shapes[newer] for each in ORDER}, older, newer)
    effect = Effect.CHANGES if of in ("Serializer", "Deserializer") else Effect.BREAKS
    return Said(
        effect,
        _name_of(since),
        OVERRIDABLE[of]
        + (", and else as before, with a DeprecationWarning" if effect is Effect.CHANGES else ""),
        f"def {_shown(shapes[newer], node.name).replace('(', '(self, ', 1)}",
    )
