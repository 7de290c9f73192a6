"""The list of hosts at which a key management system may be asked.

Whoever writes keys to a registry names the address of their KMS, and whoever asks there shows credentials. So
it is asked at listed hosts alone. Knows nothing of keys, nor of who asks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlsplit

PORTS = {"http": "80", "https": "443"}
OWN_ADDRESSES = {("token.uri", "https://oauth2.googleapis.com/token")}
"""Properties of keys whose addresses are the system's own."""
_NAME = r"[a-z0-9._-]+|\[[0-9a-f:.]+\]"
_ENTRY = re.compile(rf"({_NAME})(?::[0-9]{{1,5}})?")
# Libraries differ in what they take for the host where there is a user, a backslash or a blank.
_ADDRESS = re.compile(rf"(https?)://({_NAME})(?::([0-9]{{1,5}}))?(?:[/?#][^\s\\\x00-\x1f]*)?", re.IGNORECASE)


class InvalidHostsError(ValueError):
    """A list of hosts has something that is none."""


def hosts_of(text: str) -> frozenset[str]:
    """Of `vault, vault.example.com:8200`: a host, with a port where only that one is meant.

    Raises: InvalidHostsError.
    """
    found = frozenset(each.strip().lower() for each in text.split(",") if each.strip())
    for each in sorted(found):
        if _ENTRY.fullmatch(each) is None:
            raise InvalidHostsError(f"{each!r} is neither a host nor host:port")
    return found


def unlisted_address(key_url: str, properties: Mapping[str, Any], hosts: Collection[str]) -> str | None:
    """The first address, of a key or in the properties that it comes with, whose host is not one of `hosts`.
    None: all are listed, or there is none, as in a name of AWS."""
    named = [("", key_url.partition("://")[2])]
    # Several keys are one property, with commas between.
    named += [(name, each.strip()) for name, value in properties.items() for each in str(value).split(",")]
    for name, value in named:
        if _is_address(value) and (name, value) not in OWN_ADDRESSES and not _is_listed(value, hosts):
            return value
    return None


def _is_address(text: str) -> bool:
    try:
        return "://" in text or bool(urlsplit(text).netloc)
    except ValueError:
        return True


def _is_listed(address: str, hosts: Collection[str]) -> bool:
    found = _ADDRESS.fullmatch(address)
    if found is None:
        return False
    host = found[2].lower()
    return host in hosts or f"{host}:{found[3] or PORTS[found[1].lower()]}" in hosts
