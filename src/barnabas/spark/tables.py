"""What SQL makes of options: tables, and views, which are read and written under one list of options.

Spark keeps the OPTIONS of a table of a Python data source to itself: whoever reads or writes the table sees
none of them, so that a table can only have what `WITH (...)` gives it. Those of a temporary view are handed
on. Pure: must not know Spark or a broker.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from barnabas.settings.table import ALIASES, ConsumerConfig, ProducerConfig, names
from barnabas.spark.errors import InvalidOptionError

SUBSCRIPTIONS = ("assign", "subscribe", "subscribepattern")
# What Spark adds to the options while it creates a table.
PROVIDER, OPTION_PREFIX = "provider", "option."
WITHOUT_OPTIONS = (
    "Spark hands no OPTIONS of a table to a data source in Python (4.3 does not). Create a view: CREATE "
    "TEMPORARY VIEW name USING barnabas OPTIONS (...); or create the table without OPTIONS, and give them "
    "where it is used: SELECT ... FROM name WITH ('kafka.bootstrap.servers' = 'host:9092', subscribe = 't')"
)


def is_being_created(options: Mapping[str, str]) -> bool:
    """Whether Spark asks for the columns of a table without OPTIONS.

    Raises: InvalidOptionError if it has some, which would be lost.
    """
    given = {name.lower() for name in options}
    if PROVIDER not in given:
        return False
    if any(name.startswith(OPTION_PREFIX) for name in given):
        raise InvalidOptionError(WITHOUT_OPTIONS)
    return True


def options_for_read(
    given: Mapping[str, str], read_options: Collection[str], write_options: Collection[str]
) -> dict[str, str]:
    """Without those of the sink, where the options say both what to read and where to write.

    `given` has names in lower case; what follows are all names. Raises: InvalidOptionError.
    """
    _check_handed_on(given)
    if "topic" not in given or not _has_subscription(given):
        return dict(given)
    settings = set(names(ProducerConfig)) - set(names(ConsumerConfig))
    return _without(given, write_options, read_options, settings)


def options_for_write(
    given: Mapping[str, str], read_options: Collection[str], write_options: Collection[str]
) -> dict[str, str]:
    """Without those of the source, where the options say what to read. As `options_for_read`."""
    _check_handed_on(given)
    if not _has_subscription(given):
        return dict(given)
    settings = set(names(ConsumerConfig)) - set(names(ProducerConfig))
    return _without(given, read_options, write_options, settings)


def _check_handed_on(given: Mapping[str, str]) -> None:
    if not given:
        raise InvalidOptionError(f"there are no options. If this is a table: {WITHOUT_OPTIONS}")


def _has_subscription(given: Mapping[str, str]) -> bool:
    return any(way in given for way in SUBSCRIPTIONS)


def _without(
    given: Mapping[str, str], unwanted: Collection[str], wanted: Collection[str], settings: Collection[str]
) -> dict[str, str]:
    left_out = {name.lower() for name in unwanted} - {name.lower() for name in wanted}
    left_out |= {f"kafka.{name.replace('_', '.')}" for name in settings}
    left_out |= {f"kafka.{alias.replace('_', '.')}" for alias, name in ALIASES.items() if name in settings}
    return {name: value for name, value in given.items() if name not in left_out}
