"""Java's sasl.jaas.config: `Module required name="value" ...;`, turned into the settings that say the same.

No error ever quotes the text, which holds passwords.
"""

from __future__ import annotations

import re
from typing import Any

from barnabas.credentials import Secret
from barnabas.errors import InvalidSettingError
from barnabas.settings.table import SaslMechanism
from barnabas.values import frozen

_TOKEN = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s=;"']+)|([=;]))""", re.DOTALL)
_FLAGS = {"required", "requisite", "sufficient", "optional"}
_SECRETS = {"sasl_password", "sasl_oauthbearer_client_credentials_client_secret"}

# The options of each login module that mean something here, and the settings that they are.
_USER = {"username": "sasl_username", "password": "sasl_password"}
_MODULES: dict[str, tuple[tuple[SaslMechanism, ...], dict[str, str]]] = {
    "PlainLoginModule": (("PLAIN",), _USER),
    "ScramLoginModule": (("SCRAM-SHA-256", "SCRAM-SHA-512"), _USER | {"tokenauth": "sasl_tokenauth"}),
    "OAuthBearerLoginModule": (
        ("OAUTHBEARER",),
        {
            "clientId": "sasl_oauthbearer_client_credentials_client_id",
            "clientSecret": "sasl_oauthbearer_client_credentials_client_secret",
            "scope": "sasl_oauthbearer_scope",
        },
    ),
    "IAMLoginModule": (("AWS_MSK_IAM",), {"awsProfileName": "aws_profile"}),
    "Krb5LoginModule": (
        ("GSSAPI",),
        {
            "serviceName": "sasl_kerberos_service_name",
            "principal": "sasl_kerberos_principal",
            "keyTab": "sasl_kerberos_keytab",
        },
    ),
}
# What only tells Java's own module how to work.
_IGNORED = {
    "useKeyTab",
    "storeKey",
    "useTicketCache",
    "doNotPrompt",
    "renewTicket",
    "debug",
    "refreshKrb5Config",
}
_EXTENSION = "extension_"


@frozen
class LoginModule:
    """One entry: the class's name without its package, and its options."""

    name: str
    options: dict[str, Secret]


def parse(text: Secret) -> LoginModule:
    """Raises: InvalidSettingError."""
    words = _words(text.reveal())
    if len(words) < 3 or words[-1] != (";", False) or words[1][0].lower() not in _FLAGS:
        raise _malformed('it must be: Module required name="value" ... ;')
    options: dict[str, Secret] = {}
    rest = words[2:-1]
    if len(rest) % 3:
        raise _malformed('each option must be name="value"')
    for name, equals, value in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        if equals != ("=", False) or name[0] in ("=", ";") or value in (("=", False), (";", False)):
            raise _malformed('each option must be name="value", and there must be one module only')
        options[name[0]] = Secret(value[0])
    return LoginModule(words[0][0].rpartition(".")[2], options)


def settings(text: Secret, mechanism: SaslMechanism) -> dict[str, Any]:
    """The settings that a login module stands for. Raises: InvalidSettingError."""
    module = parse(text)
    if module.name not in _MODULES:
        raise _malformed(f"{module.name} is none of {', '.join(_MODULES)}")
    mechanisms, known = _MODULES[module.name]
    if mechanism not in mechanisms:
        raise _malformed(f"{module.name} is not for sasl_mechanism={mechanism!r}")
    found: dict[str, Any] = {}
    extensions: list[str] = []
    for name, value in module.options.items():
        if name in known:
            setting = known[name]
            found[setting] = value if setting in _SECRETS else value.reveal()
        elif name.startswith(_EXTENSION) and mechanism == "OAUTHBEARER":
            extensions.append(f"{name.removeprefix(_EXTENSION)}={value.reveal()}")
        elif name not in _IGNORED:
            raise _malformed(f"{module.name} has no option {name!r} here; it has {', '.join(known)}")
    if "sasl_tokenauth" in found:
        found["sasl_tokenauth"] = found["sasl_tokenauth"].lower() == "true"
    if extensions:
        found["sasl_oauthbearer_extensions"] = tuple(extensions)
    return found


def _words(text: str) -> list[tuple[str, bool]]:
    """The words of the text, each with whether it was quoted."""
    words: list[tuple[str, bool]] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            raise _malformed("a quotation mark is missing")
        double, single, bare, sign = match.groups()
        quoted = double if double is not None else single
        if quoted is not None:
            words.append((re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL), True))
        else:
            words.append((bare or sign, False))
        position = match.end()
    return words


def _malformed(reason: str) -> InvalidSettingError:
    return InvalidSettingError(f"sasl_jaas_config: {reason}")
