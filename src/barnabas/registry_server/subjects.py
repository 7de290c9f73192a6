"""Names of subjects and contexts: `subject` in the default context `.`, `:.context:subject` in another one.

Owns taking them apart and putting them together. Knows nothing of what they have.
"""

from __future__ import annotations

import unicodedata

from barnabas.values import frozen

DEFAULT_CONTEXT = "."
GLOBAL_CONTEXT = ".__GLOBAL"
"""Of which settings hold wherever nothing else is set."""
ANY_CONTEXT = ":*:"
RESERVED = ("__GLOBAL", "__EMPTY")


@frozen
class Subject:
    """`context` begins with a dot; `*` is any. Without a `name` it is the context itself."""

    context: str
    name: str

    def __str__(self) -> str:
        return self.prefix + self.name

    @property
    def prefix(self) -> str:
        """What names of the context begin with."""
        return "" if self.context == DEFAULT_CONTEXT else f":{self.context}:"

    @property
    def is_default_context(self) -> bool:
        return self.context == DEFAULT_CONTEXT and not self.name

    @property
    def is_global_context(self) -> bool:
        return self.context == GLOBAL_CONTEXT and not self.name

    def includes(self, other: str) -> bool:
        """Whether it is that subject, or a context with it."""
        if str(self) == other:
            return True
        return not self.name and (self.context == GLOBAL_CONTEXT or parse(other).prefix == self.prefix)


def parse(subject: str) -> Subject:
    if subject.startswith(":."):
        context, delimiter, name = subject[1:].partition(":")
        return Subject(context, name if delimiter else "")
    if subject.startswith(ANY_CONTEXT):
        return Subject("*", subject.removeprefix(ANY_CONTEXT))
    return Subject(DEFAULT_CONTEXT, subject)


def context_of(subject: str | None) -> str:
    return DEFAULT_CONTEXT if subject is None else parse(subject).context


def within(parent: str, subject: str) -> str:
    """A subject as one of `parent`'s context means it: of the same context, unless it says otherwise."""
    found = parse(subject)
    if found.context != DEFAULT_CONTEXT:
        return str(found)
    return str(Subject(parse(parent).context, subject))


def context_prefix(context: str) -> str:
    """`context`, `.context` or `:.context:` -> `:.context:`; of the default one, nothing.

    Raises: ValueError.
    """
    name = context.removeprefix(":").removesuffix(":")
    if ":" in name:
        raise ValueError(f"Context name '{name}' cannot contain a colon")
    if not name.startswith("."):
        name = "." + name
    return "" if name == DEFAULT_CONTEXT else f":{name}:"


def is_valid(subject: str, *, for_settings: bool = False) -> bool:
    """`for_settings`: whether it is to have settings, which the global context may."""
    if any(unicodedata.category(each) == "Cc" for each in subject):
        return False
    found = parse(subject)
    return found.name not in RESERVED and (for_settings or found.context != GLOBAL_CONTEXT)
