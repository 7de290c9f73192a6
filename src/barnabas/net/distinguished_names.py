"""Names in certificates as Java writes them (RFC 2253), and Kafka's rules that make user names of them.

Pure. Must not know TLS or listeners.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from barnabas.errors import InvalidSettingError

DEFAULT = "DEFAULT"

# RFC 2253 has short names for these alone; Java writes the others by their numbers, and the value in hex.
_SHORT = {
    "commonName": "CN",
    "countryName": "C",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "streetAddress": "STREET",
    "domainComponent": "DC",
    "userId": "UID",
}
_NUMBERS = {
    "emailAddress": "1.2.840.113549.1.9.1",
    "serialNumber": "2.5.4.5",
    "surname": "2.5.4.4",
    "title": "2.5.4.12",
    "givenName": "2.5.4.42",
    "initials": "2.5.4.43",
    "generationQualifier": "2.5.4.44",
    "dnQualifier": "2.5.4.46",
    "pseudonym": "2.5.4.65",
}
_IA5_STRING, _PRINTABLE_STRING, _UTF8_STRING = 0x16, 0x13, 0x0C
_PRINTABLE = re.compile(r"[A-Za-z0-9 '()+,\-./:=?]*")
_ESCAPED = re.compile(r'[,+"\\<>;]')
_RULE = re.compile(r"(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?)")
_BACK_REFERENCE = re.compile(r"\\(.)|\$(\d)|([\\])")


def subject_name(certificate: Mapping[str, Any]) -> str:
    """Whom a certificate is for, of what `SSLSocket.getpeercert` tells."""
    parts: tuple[tuple[tuple[str, str], ...], ...] = certificate.get("subject", ())
    return ",".join("+".join(_attribute(name, value) for name, value in part) for part in reversed(parts))


def _attribute(name: str, value: str) -> str:
    if name in _SHORT:
        return f"{_SHORT[name]}={_escaped(value)}"
    number = _NUMBERS.get(name, name)
    if name == "emailAddress":
        tag = _IA5_STRING
    else:
        tag = _PRINTABLE_STRING if _PRINTABLE.fullmatch(value) else _UTF8_STRING
    data = value.encode()
    length = bytes([len(data)]) if len(data) < 0x80 else b"\x82" + len(data).to_bytes(2, "big")
    return f"{number}=#{(bytes([tag]) + length + data).hex()}"


def _escaped(value: str) -> str:
    text = _ESCAPED.sub(lambda found: "\\" + found[0], value)
    if text[:1] in ("#", " "):
        text = "\\" + text
    return text[:-1] + "\\ " if len(text) > 1 and text.endswith(" ") else text


class PrincipalRules:
    """The value of ssl.principal.mapping.rules: the first rule whose pattern fits makes the name.

    Raises: InvalidSettingError.
    """

    def __init__(self, text: str) -> None:
        self._rules: list[tuple[re.Pattern[str], str, str] | None] = []
        position = 0
        text = text.strip()
        while position < len(text):
            found = _RULE.match(text, position)
            if found is None:
                raise InvalidSettingError(f"ssl.principal.mapping.rules: invalid rule: {text[position:]}")
            default, pattern, replacement, case = found.groups()
            self._rules.append(None if default else (_pattern(pattern), _python_form(replacement), case))
            position = found.end()
            separator = re.compile(r"\s*([,\n]\s*|$)").match(text, position)
            if separator is None:
                raise InvalidSettingError(f"ssl.principal.mapping.rules: invalid rule: {text[position:]}")
            position = separator.end()

    def apply(self, name: str) -> str | None:
        """The user of a distinguished name; None where no rule fits."""
        for rule in self._rules:
            if rule is None:
                return name
            pattern, replacement, case = rule
            if pattern.fullmatch(name):
                user = pattern.sub(replacement, name)
                return user.lower() if case == "L" else user.upper() if case == "U" else user
        return None


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise InvalidSettingError(f"ssl.principal.mapping.rules: {text!r} is no pattern: {error}") from None


def _python_form(replacement: str) -> str:
    """Java's `$1` as Python's `\\g<1>`."""

    def one(found: re.Match[str]) -> str:
        literal, number, backslash = found.groups()
        if number is not None:
            return f"\\g<{number}>"
        return ("\\\\" if literal == "\\" else literal) if backslash is None else "\\\\"

    return _BACK_REFERENCE.sub(one, replacement)
