"""From names in Kerberos to users: the rules of `sasl.kerberos.principal.to.local.rules`, as Kafka has them.

Must not know tickets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from barnabas.errors import InvalidSettingError
from barnabas.net.sasl_server.conversation import RefusedError

SETTING = "sasl.kerberos.principal.to.local.rules"
_NAME = re.compile(r"(?P<service>[^/@]*)(?:/(?P<host>[^/@]*))?@(?P<realm>[^/@]*)")
_RULE = re.compile(
    r"DEFAULT|RULE:\[(?P<components>\d+):(?P<format>[^\]]*)\](?:\((?P<match>[^)]*)\))?"
    r"(?:s/(?P<old>[^/]*)/(?P<new>[^/]*)/(?P<every>g)?)?/?(?P<case>[LU])?"
)
# A component of the name in a format, a group of the expression in what takes its place.
_REFERENCE = re.compile(r"\$(\d)")


@dataclass(frozen=True, slots=True)
class _Rule:
    """`match` is what the formatted name has to be as a whole; None where any will do."""

    components: int
    format: str
    match: re.Pattern[str] | None
    substitute: Callable[[str], str]

    def apply(self, parts: Sequence[str]) -> str | None:
        """`parts`: the realm, the service, and the host if there is one. None where the rule does not fit."""
        if len(parts) - 1 != self.components:
            return None
        base = _REFERENCE.sub(lambda found: parts[int(found[1])], self.format)
        if self.match is not None and self.match.fullmatch(base) is None:
            return None
        return self.substitute(base)


class KerberosShortNames:
    """The first rule that fits says what a principal is called.

    `rules`: separated by commas. `default_realm`: the one whose names DEFAULT takes for users. Raises:
    InvalidSettingError for a rule that is none.
    """

    def __init__(self, rules: str, default_realm: str) -> None:
        self._text = rules
        self._default_realm = default_realm
        self._rules = [_parsed(rule.strip()) for rule in _separated(rules)]

    def user(self, principal: str) -> str:
        """Raises: RefusedError where no rule fits, or what it makes is no plain name."""
        found = _NAME.fullmatch(principal)
        if found is None:
            if "@" in principal or "/" in principal:
                raise RefusedError(f"Malformed Kerberos name: {principal}")
            return principal
        parts = [found["realm"], found["service"], *([found["host"]] if found["host"] is not None else [])]
        for rule in self._rules:
            user = self._default(parts) if rule is None else rule.apply(parts)
            if user is None:
                continue
            if "/" in user or "@" in user:
                raise RefusedError(f"Non-simple name {user} after auth_to_local rule for {principal}")
            return user
        raise RefusedError(f"No rules apply to {principal}, rules {self._text}")

    def _default(self, parts: Sequence[str]) -> str | None:
        return parts[1] if parts[0] == self._default_realm else None


def _separated(rules: str) -> list[str]:
    """Commas inside of a rule belong to it, so that each begins with what a rule begins with."""
    return [rule for rule in re.split(r",\s*(?=RULE:|DEFAULT)", rules.strip()) if rule] or ["DEFAULT"]


def _parsed(text: str) -> _Rule | None:
    """None is DEFAULT."""
    found = _RULE.fullmatch(text)
    if found is None:
        raise InvalidSettingError(
            f"{SETTING}: {text!r} is neither DEFAULT nor RULE:[n:format](expression)s/old/new/g with L or U"
        )
    if text == "DEFAULT":
        return None
    components = int(found["components"])
    beyond = [number for number in _REFERENCE.findall(found["format"]) if int(number) > components]
    if beyond:
        raise InvalidSettingError(f"{SETTING}: {text!r} names ${beyond[0]} of {components} components")
    try:
        match = None if found["match"] is None else re.compile(found["match"])
        substitute = _substitution(found)
    except re.error as error:
        raise InvalidSettingError(f"{SETTING}: {text!r}: {error}") from None
    return _Rule(components, found["format"], match, substitute)


def _substitution(rule: re.Match[str]) -> Callable[[str], str]:
    old = None if rule["old"] is None else re.compile(rule["old"])
    new = "" if rule["new"] is None else _REFERENCE.sub(r"\\\1", rule["new"].replace("\\", r"\\"))
    count = 0 if rule["every"] else 1
    cases: dict[str | None, Callable[[str], str]] = {"L": str.lower, "U": str.upper, None: str}
    in_case = cases[rule["case"]]

    def substitute(base: str) -> str:
        return in_case(base if old is None else old.sub(new, base, count=count))

    return substitute
