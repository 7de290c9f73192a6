"""Who may use a server: users, their roles and the hashes of their passwords, one a line of a file. A
registry has the roles `read` and `write`; the page (`barnabas.ui`) has others.

    alice write scrypt$14$8$1$<salt>$<hash>

A hash is scrypt's (RFC 7914): log2 of the cost, block size, parallelism, salt and hash in base64. Knows
nothing of HTTP.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from barnabas.errors import InvalidSettingError
from barnabas.values import frozen

ROLES = ("read", "write")
"""Of a registry. Who may write may read, too."""
SCHEME = "scrypt"
LOG_COST = 14
BLOCK_SIZE = 8
PARALLELISM = 1
SALT_BYTES = 16
HASH_BYTES = 32
HIGHEST_LOG_COST = 20
# scrypt itself takes 128 times block size times cost, and OpenSSL wants to have been told.
MEMORY_MARGIN = 2


@frozen
class PasswordHash:
    log_cost: int
    block_size: int
    parallelism: int
    salt: bytes
    digest: bytes

    def fits(self, password: str) -> bool:
        """Takes some 50 ms of computing, without the interpreter lock."""
        return hmac.compare_digest(self.digest_of(password), self.digest)

    def digest_of(self, password: str) -> bytes:
        cost = 1 << self.log_cost
        return hashlib.scrypt(
            password.encode(),
            salt=self.salt,
            n=cost,
            r=self.block_size,
            p=self.parallelism,
            maxmem=MEMORY_MARGIN * 128 * self.block_size * (cost + self.parallelism),
            dklen=len(self.digest),
        )

    def __str__(self) -> str:
        parts = [base64.b64encode(part).decode() for part in (self.salt, self.digest)]
        return "$".join([SCHEME, str(self.log_cost), str(self.block_size), str(self.parallelism), *parts])


@frozen
class User:
    name: str
    role: str
    password: PasswordHash


def hashed(password: str) -> PasswordHash:
    empty = PasswordHash(LOG_COST, BLOCK_SIZE, PARALLELISM, os.urandom(SALT_BYTES), bytes(HASH_BYTES))
    return replace(empty, digest=empty.digest_of(password))


def user_line(name: str, role: str, password: str, roles: Sequence[str] = ROLES) -> str:
    """What a file of users has for this one. Raises: InvalidSettingError."""
    line = f"{name} {role} {hashed(password)}"
    _user(line, roles)
    return line


def read_users(path: Path, roles: Sequence[str] = ROLES) -> dict[str, User]:
    """Users by name, of these roles. Raises: InvalidSettingError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSettingError(f"the users in {str(path)!r} cannot be read: {error}") from None
    users: dict[str, User] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            user = _user(line, roles)
        except InvalidSettingError as error:
            raise InvalidSettingError(f"{path}, line {number}: {error}") from None
        if user.name in users:
            raise InvalidSettingError(f"{path}, line {number}: there is a user {user.name!r} above")
        users[user.name] = user
    if not users:
        raise InvalidSettingError(f"{path} has no users, so that nobody could log in")
    return users


def _user(line: str, roles: Sequence[str]) -> User:
    parts = line.split()
    if len(parts) != 3:
        raise InvalidSettingError("a line has a user's name, a role and a hash, with blanks between them")
    name, role, password = parts
    if ":" in name:
        raise InvalidSettingError(f"the name {name!r} has a colon, which basic authentication cannot say")
    if role not in roles:
        raise InvalidSettingError(f"the role {role!r} is not one of {', '.join(roles)}")
    return User(name, role, _password_hash(password))


def _password_hash(text: str) -> PasswordHash:
    try:
        scheme, log_cost, block_size, parallelism, salt, digest = text.split("$")
        found = PasswordHash(
            int(log_cost),
            int(block_size),
            int(parallelism),
            base64.b64decode(salt, validate=True),
            base64.b64decode(digest, validate=True),
        )
    except (ValueError, binascii.Error):
        scheme, found = "", None
    if found is None or scheme != SCHEME:
        raise InvalidSettingError(
            "the hash is not of the form scrypt$14$8$1$<salt>$<hash>; `barnabas registry-user` and `barnabas "
            "ui-user` make one"
        )
    if not 1 <= found.log_cost <= HIGHEST_LOG_COST or not 1 <= found.block_size <= 32:
        raise InvalidSettingError("the hash costs more than a server can spend on each request")
    if not 1 <= found.parallelism <= 16 or len(found.digest) < 16:
        raise InvalidSettingError("the hash has a parallelism or length that is not one")
    return found


class Users:
    """Checks names and passwords. Remembers, in a form that tells nothing, which password was right for a
    user last, as each request has it again."""

    def __init__(self, users: Mapping[str, User]) -> None:
        self._users = users
        self._secret = os.urandom(32)
        self._right: dict[str, bytes] = {}
        self._nobody = hashed("")

    def known(self, name: str, password: str) -> User | None:
        """The user, if that is known without computing the hash."""
        right = self._right.get(name)
        if right is None or not hmac.compare_digest(right, self._mark(name, password)):
            return None
        return self._users[name]

    def checked(self, name: str, password: str) -> User | None:
        """None for a wrong name or password; takes as long for either."""
        user = self._users.get(name)
        if user is None:
            self._nobody.fits(password)
            return None
        if not user.password.fits(password):
            return None
        self._right[name] = self._mark(name, password)
        return user

    def _mark(self, name: str, password: str) -> bytes:
        return hmac.digest(self._secret, f"{name}:{password}".encode(), "sha256")
