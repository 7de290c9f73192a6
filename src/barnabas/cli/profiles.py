"""Profiles: settings of a cluster under a name, each a properties file in the user's configuration folder.

Secrets may stand there as `${env:NAME}` or `${keyring:SERVICE/NAME}`, which are looked up only when the
profile is used.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import re
import shlex
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Annotated, Any

import platformdirs
import typer

from barnabas.cli.properties import property_line, read_properties
from barnabas.errors import InvalidSettingError, MissingExtraError

NO_PROFILE = ""
"""In place of a name: not even the default one."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_REFERENCE = re.compile(r"\$\{(env|keyring):([^}]*)\}")
_SECRET = re.compile(r"password|secret|jaas|token|\bkey$|keystore\.key|assertion|user[._]info", re.IGNORECASE)
# A user and a password in a URL.
_SECRET_VALUE = re.compile(r"://[^/@\s]*:[^/@\s]*@")
_HIDDEN = "[hidden]"

_chosen: str | None = None


def folder() -> Path:
    return Path(platformdirs.user_config_dir("barnabas")) / "profiles"


def path_of(name: str) -> Path:
    """Raises: InvalidSettingError for what cannot be a name."""
    if not _NAME.fullmatch(name):
        raise InvalidSettingError(
            f"{name!r} cannot be a profile's name: it is of letters, digits, '.', '_', '-'"
        )
    return folder() / f"{name}.properties"


def names() -> list[str]:
    return sorted(path.stem for path in folder().glob("*.properties"))


def default_name() -> str | None:
    try:
        return _default_file().read_text(encoding="utf-8").strip() or None
    except FileNotFoundError:
        return None


def set_default(name: str | None) -> None:
    if name is None:
        _default_file().unlink(missing_ok=True)
    else:
        _write(_default_file(), name + "\n")


def save(name: str, properties: Mapping[str, str]) -> None:
    """For the user alone to read. Raises: InvalidSettingError, OSError."""
    lines = (property_line(key, value) + "\n" for key, value in properties.items())
    _write(path_of(name), "".join(lines))


def stored(name: str) -> dict[str, str]:
    """As it stands in the file. Raises: InvalidSettingError where there is none."""
    from barnabas.cli.output import nearest

    path = path_of(name)
    if not path.exists():
        raise InvalidSettingError(
            f"there is no profile {name!r}{nearest(name, names())} (barnabas profile list shows all)"
        )
    return read_properties(path)


def hidden(properties: Mapping[str, str]) -> dict[str, str]:
    """For people to look at: no secret, but where it is kept."""
    return {
        key: _HIDDEN if is_plain_secret(key, value) else value for key, value in sorted(properties.items())
    }


def is_plain_secret(key: str, value: str) -> bool:
    is_secret = _SECRET.search(key) is not None or _SECRET_VALUE.search(value) is not None
    return is_secret and _REFERENCE.search(value) is None


@contextlib.contextmanager
def chosen(name: str | None) -> Generator[None]:
    """The profile of the command that runs within; without a name the one that is chosen already,
    BARNABAS_PROFILE's, or the default one."""
    global _chosen
    before, _chosen = _chosen, _chosen if name is None else name
    try:
        yield
    finally:
        _chosen = before


def is_asked_for() -> bool:
    """Whether the command line itself names a profile."""
    return bool(_chosen)


def settings(name: str | None = None) -> dict[str, str]:
    """The properties of a profile with its references looked up; by default of the chosen one.
    Raises: InvalidSettingError where there is none of that name, a variable is not set, or the keyring has
    no such secret; MissingExtraError where there is a reference to the keyring and no package to read it."""
    if name is None:
        name = _chosen or os.environ.get("BARNABAS_PROFILE") or default_name()
    if not name:
        return {}
    return {key: _looked_up(name, key, value) for key, value in stored(name).items()}


def taking_profile(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same command with the option `--profile`."""
    option = inspect.Parameter("profile", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Profile)
    signature = inspect.signature(function, eval_str=True)
    parameters = [*signature.parameters.values(), option]

    @functools.wraps(function)
    def with_profile(*arguments: Any, profile: str | None, **options: Any) -> Any:
        with chosen(profile):
            return function(*arguments, **options)

    with_profile.__signature__ = signature.replace(parameters=parameters)  # pyright: ignore[reportAttributeAccessIssue]
    with_profile.__annotations__ = {each.name: each.annotation for each in parameters}
    return with_profile


def complete(incomplete: str) -> list[str]:
    return [name for name in names() if name.startswith(incomplete)]


Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME",
        help="A cluster of `barnabas profile`; else BARNABAS_PROFILE, or the default one.",
        autocompletion=complete,
    ),
]


def _looked_up(profile: str, key: str, value: str) -> str:
    whose = f"{key} of profile {profile!r}"

    def found(match: re.Match[str]) -> str:
        kind, name = match.groups()
        return _from_keyring(whose, name) if kind == "keyring" else _from_environment(whose, name)

    return _REFERENCE.sub(found, value)


def _from_environment(whose: str, variable: str) -> str:
    if variable not in os.environ:
        raise InvalidSettingError(f"{whose} is in the environment variable {variable}, which is not set")
    return os.environ[variable]


def _from_keyring(whose: str, place: str) -> str:
    service, slash, name = place.rpartition("/")
    if not (service and slash and name):
        raise InvalidSettingError(f"{whose} is to be of the keyring: write ${{keyring:SERVICE/NAME}}")
    try:
        import keyring
        import keyring.errors
    except ImportError:
        raise MissingExtraError(f"{whose}, which is in the keyring,", "keyring") from None
    try:
        secret = keyring.get_password(service, name)
    except keyring.errors.KeyringError as error:
        raise InvalidSettingError(f"{whose} is in the keyring, which cannot be read: {error}") from None
    if secret is None:
        raise InvalidSettingError(
            f"{whose} is in the keyring, which has nothing of {service!r} under {name!r}: "
            f"keyring set {shlex.join([service, name])}"
        )
    return secret


def _default_file() -> Path:
    return folder() / "default"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    new.replace(path)
