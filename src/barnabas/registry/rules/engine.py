"""Runs a schema's rules over a message: which ones, in which order, and what follows success and failure.

For serializers: `RuleEngine.run` with the rules of a phase, `migrations` for the way from a writer's version
to a reader's, and `RuleEngine.migrate` along it. Knows nothing of formats: whoever calls brings what walks a
message. Does no I/O of its own; executors and actions may (a key's first use asks for it).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from itertools import pairwise
from typing import Any, Protocol, cast

from barnabas.errors import SerializationError
from barnabas.registry.exchange import Steps
from barnabas.registry.rules.context import FieldTransformer, RecordPlace, RuleContext
from barnabas.registry.rules.errors import RuleConditionError, RuleError
from barnabas.registry.rules.executors import ErrorAction, NoneAction, RuleAction
from barnabas.registry.rules.kinds import RuleKind, RuleMode, RulePhase
from barnabas.registry.rules.rule_registry import RuleRegistry
from barnabas.values import frozen

log = logging.getLogger(__name__)

_KINDS = (RuleKind.CONDITION, RuleKind.TRANSFORM)
_HERE = (None, "ALL", "CLIENT")
"""Of a rule set's `enable_at`: those that clients run."""
RULE_NAME_HEADER = "__rule.name"
"""Of a record in a dead letter topic: the rule that failed there is not run again."""

# What a rule is written for, and when it is run.
_HOLDS_IN: Mapping[str, tuple[RuleMode, ...]] = {
    RuleMode.WRITEREAD: (RuleMode.WRITE, RuleMode.READ),
    RuleMode.UPDOWN: (RuleMode.UPGRADE, RuleMode.DOWNGRADE),
    **{mode: (mode,) for mode in (RuleMode.WRITE, RuleMode.READ, RuleMode.UPGRADE, RuleMode.DOWNGRADE)},
}

original_key: ContextVar[Any] = ContextVar("barnabas_original_key", default=None)
"""What `set_original_key` sets."""


def set_original_key(key: Any) -> None:
    """What a record's key was before it was serialized, for the actions of its value's rules: to be called
    by whoever serializes keys. Holds in this thread, or task of asyncio."""
    original_key.set(key)


def get_original_key() -> Any:
    return original_key.get()


def clear_original_key() -> None:
    """To be called by whoever serializes values, so that the next record does not have this one's key."""
    original_key.set(None)


@frozen
class Migration:
    """From one version of a subject to the next, by the rules of the later one. Both are registered schemas;
    for DOWNGRADE `source` is the later."""

    rule_mode: RuleMode
    source: Any
    target: Any


class VersionSource(Protocol):
    """Where the versions between two come from: the registry's calls, as steps. What is registered has a
    `version` and a `schema`."""

    def look_up(
        self, subject: str, schema: Any, *, normalize: bool = False, deleted: bool = False
    ) -> Steps[Any]: ...

    def version(
        self, subject: str, version: int, *, deleted: bool = False, format: str | None = None
    ) -> Steps[Any]: ...


class RuleEngine:
    """`registry`: of executors and actions. `error_action`: what ERROR does, with whose kind of error a call
    ends; errors of the kinds in `passing` come from executors and actions to the caller as they are.
    `as_original`: as Confluent's client goes on where a rule or an action cannot be carried out: without the
    rules behind one of an unknown type, without what one of no kind does, with a RuleError for an action."""

    def __init__(
        self,
        registry: RuleRegistry,
        *,
        error_action: RuleAction | None = None,
        passing: tuple[type[Exception], ...] = (SerializationError,),
        as_original: bool = False,
    ) -> None:
        self.registry = registry
        self._actions: dict[str, RuleAction] = {
            "ERROR": ErrorAction() if error_action is None else error_action,
            "NONE": NoneAction(),
        }
        self._passing = passing
        self._as_original = as_original

    def configure(self, client_conf: Any, rule_conf: Mapping[str, Any] | None) -> None:
        """Tells executors and actions how the registry is reached, and what there is to know for rules."""
        for executor in self.registry.get_executors():
            executor.configure(client_conf, rule_conf or {})
        for action in self.registry.get_actions():
            action.configure(client_conf, rule_conf or {})

    def run(
        self,
        ser_ctx: RecordPlace | None,
        subject: str,
        rule_mode: RuleMode,
        source: Any,
        target: Any,
        message: Any,
        *,
        rule_phase: RulePhase = RulePhase.DOMAIN,
        inline_tags: Mapping[str, set[str]] | None = None,
        field_transformer: FieldTransformer | None = None,
        original_message: Any = None,
    ) -> Any:
        """Gives what the rules make of `message`. `target`: the schema whose rules hold; `source`: for
        migrations, the one that the message is of. `original_message`: what was given before anything was
        done, None for the message itself.

        Raises: SerializationError (or what `error_action` raises).
        """
        if message is None or target is None:
            return message
        later = source if rule_mode == RuleMode.DOWNGRADE else target
        if later is None or later.rule_set is None:
            return message
        rules = _in_order(_of_phase(later.rule_set, rule_phase), rule_mode)
        original = message if original_message is None else original_message
        is_key = ser_ctx is not None and ser_ctx.field == "key"
        original_key = original if is_key else get_original_key()
        original_value = None if is_key else original
        for index, rule in enumerate(rules):
            context = RuleContext(
                later.rule_set.enable_at,
                ser_ctx,
                source,
                target,
                subject,
                rule_mode,
                rule,
                index,
                rules,
                inline_tags,
                field_transformer,
                original_key,
                original_value,
            )
            if (
                rule_mode not in _HOLDS_IN.get(rule.mode, ())
                or self._is_disabled(context)
                or _failed_before(context)
            ):
                continue
            executor = None if rule.type is None else self.registry.get_executor(rule.type.upper())
            if executor is None:
                missing = (
                    f"Rule type is None for rule {rule.name}"
                    if rule.type is None
                    else f"Could not find rule executor of type {rule.type}"
                )
                self._run_action(context, self._on_failure(rule), message, RuleError(missing), "ERROR")
                if self._as_original:
                    return message
                continue
            try:
                if rule.kind not in _KINDS and not self._as_original:
                    raise RuleError(f"its kind is {rule.kind!r}, and not CONDITION or TRANSFORM")
                result = executor.transform(context, message)
                if rule.kind == RuleKind.CONDITION:
                    if not result:
                        raise RuleConditionError(rule)
                elif rule.kind == RuleKind.TRANSFORM:
                    message = result
                if message is None:
                    self._run_action(context, self._on_failure(rule), message, None, "ERROR")
                else:
                    self._run_action(context, self._on_success(rule), message, None, "NONE")
            except self._passing:
                raise
            except Exception as error:
                self._run_action(context, self._on_failure(rule), message, error, "ERROR")
        return message

    def migrate(
        self, ser_ctx: RecordPlace | None, subject: str, migrations: Iterable[Migration], message: Any
    ) -> Any:
        """Gives what the rules of `migrations`, one after another, make of `message`. Raises: as `run`."""
        for migration in migrations:
            message = self.run(
                ser_ctx,
                subject,
                migration.rule_mode,
                migration.source.schema,
                migration.target.schema,
                message,
                rule_phase=RulePhase.MIGRATION,
            )
        return message

    def close(self) -> None:
        """Closes executors and actions; not for what others use as well. What fails there is logged."""
        # Actions first: records may be on their way to a dead letter topic.
        for each in (*self.registry.get_actions(), *self.registry.get_executors()):
            try:
                each.close()
            except Exception:
                log.warning("a rule's %s could not be closed", each.type(), exc_info=True)

    def _is_disabled(self, context: RuleContext) -> bool:
        override = None if context.rule.type is None else self.registry.get_override(context.rule.type)
        if override is not None and override.disabled is not None:
            return override.disabled
        if context.rule.type is not None and context.enabled_env not in _HERE:
            return True
        return bool(context.rule.disabled)

    def _on_success(self, rule: Any) -> str | None:
        override = None if rule.type is None else self.registry.get_override(rule.type)
        if override is not None and override.on_success is not None:
            return override.on_success
        return rule.on_success

    def _on_failure(self, rule: Any) -> str | None:
        override = None if rule.type is None else self.registry.get_override(rule.type)
        if override is not None and override.on_failure is not None:
            return override.on_failure
        return rule.on_failure

    def _run_action(
        self, context: RuleContext, named: str | None, message: Any, error: Exception | None, default: str
    ) -> None:
        name = _for_mode(context, named) or default
        action = self._actions.get(name) or self.registry.get_action(name)
        if action is None:
            missing = RuleError(f"Could not find rule action of type {name}")
            if self._as_original:
                raise missing from error
            rule, subject = context.rule, context.subject
            why = "" if error is None else f". The rule failed: {str(error) or type(error).__name__}"
            raise SerializationError(
                f"rule {rule.name!r} ({rule.type}, {context.rule_mode}) of subject {subject!r} asks for the "
                f"action {name}, which is not there: register it with RuleRegistry.register_action{why}"
            ) from missing
        try:
            action.run(context, message, error)
        except self._passing:
            raise
        except Exception as failure:
            log.warning("Could not run post-rule action %s: %s", name, failure)


def has_rules(rule_set: Any, phase: RulePhase, mode: RuleMode) -> bool:
    """Whether there are any that would be run then, disabled or not."""
    return any(mode in _HOLDS_IN.get(rule.mode, ()) for rule in _of_phase(rule_set, phase))


def rules_to_run(rule_set: Any, mode: RuleMode, *phases: RulePhase) -> list[Any]:
    """Those that a client has to run then, in the order of the phases: not those that are disabled, by
    themselves or by what is registered for the process."""
    if rule_set is None or rule_set.enable_at not in _HERE:
        return []
    process = RuleRegistry.get_global_instance()
    found: list[Any] = []
    for phase in phases:
        for rule in _of_phase(rule_set, phase):
            override = None if rule.type is None else process.get_override(rule.type)
            is_disabled = (
                rule.disabled if override is None or override.disabled is None else override.disabled
            )
            if mode in _HOLDS_IN.get(rule.mode, ()) and not is_disabled:
                found.append(rule)
    return found


def rules_in_words(rules: Sequence[Any], *shown: str) -> str:
    """Their names, with these attributes of each: `the rule 'check' (CEL)`."""
    names = (f"{rule.name!r} ({', '.join(str(getattr(rule, each)) for each in shown)})" for rule in rules)
    return f"the rule{'' if len(rules) == 1 else 's'} {', '.join(names)}"


def migrations(source: VersionSource, subject: str, written: Any, target: Any) -> Steps[list[Migration]]:
    """The way from `written`, a schema that a message has, to `target`, the registered schema that it is
    wanted in: only the versions that have rules for it."""
    first = yield from source.look_up(subject, written, normalize=False, deleted=True)
    if first.version == target.version:
        return []
    mode = RuleMode.UPGRADE if first.version < target.version else RuleMode.DOWNGRADE
    earlier, later = (first, target) if mode == RuleMode.UPGRADE else (target, first)
    way = [earlier]
    for number in range(earlier.version + 1, later.version):
        between = yield from source.version(subject, number, deleted=True)
        way.append(between)
    way.append(later)
    found: list[Migration] = []
    for before, after in pairwise(way):
        if has_rules(after.schema.rule_set, RulePhase.MIGRATION, mode):
            ends = (before, after) if mode == RuleMode.UPGRADE else (after, before)
            found.append(Migration(mode, *ends))
    return found if mode == RuleMode.UPGRADE else found[::-1]


def _of_phase(rule_set: Any, phase: RulePhase) -> Sequence[Any]:
    if rule_set is None:
        return ()
    if phase == RulePhase.MIGRATION:
        return rule_set.migration_rules or ()
    return (rule_set.encoding_rules if phase == RulePhase.ENCODING else rule_set.domain_rules) or ()


def _in_order(rules: Sequence[Any], mode: RuleMode) -> Sequence[Any]:
    """What was done last is undone first."""
    return list(rules)[::-1] if mode in (RuleMode.READ, RuleMode.DOWNGRADE) else rules


def _for_mode(context: RuleContext, named: str | None) -> str | None:
    """`A,B`: the first is for writing and upgrades, the second for the other way."""
    if named and "," in named and context.rule.mode in (RuleMode.WRITEREAD, RuleMode.UPDOWN):
        parts = named.split(",")
        return parts[0 if context.rule_mode in (RuleMode.WRITE, RuleMode.UPGRADE) else 1]
    return named


def _failed_before(context: RuleContext) -> bool:
    headers: Any = None if context.ser_ctx is None else context.ser_ctx.headers
    if not headers or context.rule.name is None:
        return False
    value: Any = None
    pairs: Iterable[tuple[Any, Any]] = (
        cast(Mapping[Any, Any], headers).items() if isinstance(headers, Mapping) else headers
    )
    for name, each in pairs:
        if name == RULE_NAME_HEADER:
            value = each
    if isinstance(value, bytes | bytearray):
        value = value.decode(errors="replace")
    return value == context.rule.name
