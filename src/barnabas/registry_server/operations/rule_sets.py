"""Whether rules may be kept."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.registry_server import api_errors
from barnabas.registry_server.entities import JsonObject

LONGEST_NAME = 256
MIGRATION = ("UPGRADE", "DOWNGRADE", "UPDOWN")
OF_RECORDS = ("WRITE", "READ", "WRITEREAD")
KINDS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "migrationRules": (MIGRATION, "Migration rules can only be UPGRADE, DOWNGRADE, UPDOWN"),
    "domainRules": (OF_RECORDS, "Domain rules can only be WRITE, READ, WRITEREAD"),
    "encodingRules": (OF_RECORDS, "Encoding rules can only be WRITE, READ, WRITEREAD"),
}


def checked_rule_set(rule_set: JsonObject | None) -> None:
    """Raises: ApiError."""
    seen: set[str | None] = set()
    for kind, (modes, refusal) in KINDS.items():
        for rule in (rule_set or {}).get(kind, ()):
            name = rule.get("name")
            if name in seen:
                raise api_errors.invalid_rule_set(f"Found rule with duplicate name '{name}'")
            seen.add(name)
            _check(rule)
            if rule.get("mode") not in modes:
                raise api_errors.invalid_rule_set(refusal)


def _check(rule: JsonObject) -> None:
    why = _wrong_name(rule.get("name"))
    if why is None and "type" not in rule:
        why = "Missing rule type"
    if why is None and rule.get("mode") not in (None, "WRITEREAD", "UPDOWN"):
        for action in ("onSuccess", "onFailure"):
            if "," in rule.get(action, ""):
                why = "Multiple actions only valid with WRITEREAD and UPDOWN"
    if why is not None:
        raise api_errors.invalid_rule_set(why)


def _wrong_name(name: str | None) -> str | None:
    if name is None:
        # An empty one is left out where the rule is read.
        return "Missing rule name"
    if len(name) > LONGEST_NAME:
        return "Rule name too long"
    if not (name[0].isalpha() or name[0] == "_"):
        return f"Illegal initial character in rule name: {name}"
    if not all(each.isalnum() or each in "_-" for each in name):
        return f"Illegal character in rule name: {name}"
    return None
