"""What rules are carried out by (executors), and what is done afterwards (actions): their base classes.

The shapes are those of Confluent's client; see `context`.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Mapping
from typing import Any, NoReturn

from barnabas.errors import SerializationError
from barnabas.registry.rules.context import FieldTransform, RuleContext
from barnabas.registry.rules.errors import RuleError
from barnabas.registry.rules.kinds import RuleKind, RuleMode


class RuleBase(metaclass=ABCMeta):
    """Its subclasses need not have `configure` and `close`."""

    def configure(  # noqa: B027
        self, client_conf: Any, rule_conf: Mapping[str, Any] | None
    ) -> None:
        """`client_conf`: how the registry is reached; `rule_conf`: what the serializer was given for rules.
        Called by each serializer that may use this."""

    @abstractmethod
    def type(self) -> str:
        """What rules, or their `on_success` and `on_failure`, call it."""
        raise NotImplementedError

    def close(self) -> None:  # noqa: B027
        """Called once nobody uses this any more."""


class RuleExecutor(RuleBase):
    """Runs the rules of one type."""

    @abstractmethod
    def transform(self, ctx: RuleContext, message: Any) -> Any:
        """Returns whether a condition holds, or the message that a transformation makes."""
        raise NotImplementedError


class FieldRuleExecutor(RuleExecutor):
    """Runs rules on fields: those with one of the rule's tags, or all if it has none."""

    @abstractmethod
    def new_transform(self, ctx: RuleContext) -> FieldTransform:
        raise NotImplementedError

    def transform(self, ctx: RuleContext, message: Any) -> Any:
        """Transforms the fields of a message. Of several rules that would do the same to the same fields
        only one does: the first when writing, and so the last in what is read."""
        if ctx.rule_mode in (RuleMode.WRITE, RuleMode.UPGRADE):
            others = ctx.rules[: ctx.index]
        elif ctx.rule_mode in (RuleMode.READ, RuleMode.DOWNGRADE):
            others = ctx.rules[ctx.index + 1 :]
        else:
            others = ()
        if any(self.are_transforms_with_same_tag(ctx.rule, other) for other in others):
            return message
        if ctx.field_transformer is None:
            # What lies between two schemas has no fields that were tagged.
            raise RuleError(f"rules of type {self.type()} are for fields, which migrations do not have")
        return ctx.field_transformer(ctx, self.new_transform(ctx), message)

    @staticmethod
    def are_transforms_with_same_tag(rule1: Any, rule2: Any) -> bool:
        return (
            bool(rule1.tags)
            and rule1.kind == RuleKind.TRANSFORM
            and all(getattr(rule1, name) == getattr(rule2, name) for name in ("kind", "mode", "type", "tags"))
        )


class RuleAction(RuleBase):
    """What is done after a rule."""

    @abstractmethod
    def run(self, ctx: RuleContext, message: Any, ex: Exception | None) -> None:
        """`ex`: why the rule failed; None after success, and where a transformation gave None."""
        raise NotImplementedError


class ErrorAction(RuleAction):
    """Ends the call with an error."""

    def type(self) -> str:
        return "ERROR"

    def run(self, ctx: RuleContext, message: Any, ex: Exception | None) -> NoReturn:
        """Fails the call. Raises: SerializationError, which names the rule and the subject; its cause is
        `ex`."""
        raise SerializationError(described_failure(ctx, ex)) from ex


class NoneAction(RuleAction):
    """Goes on as if nothing had happened."""

    def type(self) -> str:
        return "NONE"

    def run(self, ctx: RuleContext, message: Any, ex: Exception | None) -> None:
        pass


def described_failure(ctx: RuleContext, error: Exception | None) -> str:
    """Which rule failed, where, and why."""
    rule, field = ctx.rule, ctx.current_field()
    place = "" if field is None else f" at the field {field.full_name!r}"
    why = "it gave nothing" if error is None else (str(error) or type(error).__name__)
    what = f"rule {rule.name!r} ({rule.type}, {ctx.rule_mode}) of subject {ctx.subject!r}"
    return f"{what} failed{place}: {why}"
