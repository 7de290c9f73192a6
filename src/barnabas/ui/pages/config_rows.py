"""What pages of settings show, and what a change of one comes to. Knows nothing of HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from barnabas.client.admin.config_changes import changes_of, own_source, value_without_own
from barnabas.client.admin.types import ConfigEntry, ConfigResource
from barnabas.values import frozen


@frozen
class ConfigRow:
    """`may_reset`: the resource has a value of its own. `default`: what holds if that goes; None where it is
    not known."""

    entry: ConfigEntry
    may_reset: bool
    default: str | None


def config_rows(resource: ConfigResource, configs: Mapping[str, ConfigEntry], wanted: str) -> list[ConfigRow]:
    """Those with `wanted` in the name; what differs from the default stands first. `configs` has synonyms."""
    own = own_source(resource)
    found: Iterable[ConfigEntry] = (each for each in configs.values() if wanted.casefold() in each.name)
    return [
        ConfigRow(each, each.source is own, value_without_own(resource, each) if each.source is own else None)
        for each in sorted(found, key=lambda each: (each.is_default, each.source is not own, each.name))
    ]


def told_change(
    resource: ConfigResource, configs: Mapping[str, ConfigEntry], name: str, value: str | None
) -> str:
    """`retention.ms: 604800000 → 1000`. `configs` has synonyms."""
    [(_, _, before, after)] = changes_of(resource, configs, {name: value})
    if name in configs and configs[name].is_sensitive:
        return f"{name}: another value, which is not shown"
    return f"{name}: {_shown(before)} → {'the default' if after is None else _shown(after)}"


def _shown(value: str | None) -> str:
    return "nothing" if value is None else value if value else "empty"
