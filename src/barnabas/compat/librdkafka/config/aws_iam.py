"""Tokens for OAUTHBEARER from AWS, which vouches for whom its keys belong to: `aws_iam`.

Owns what the configuration says of it, and the question to AWS's Security Token Service, which boto3 asks.
Knows nothing of clients.
"""

from __future__ import annotations

import base64
import importlib
import json
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from barnabas.compat.librdkafka.config.key_values import parse_key_values

TYPE = "sasl.oauthbearer.metadata.authentication.type"
AWS_IAM = "aws_iam"
METHOD = "sasl.oauthbearer.method"
CONFIG = "sasl.oauthbearer.config"
EXTENSIONS = "sasl.oauthbearer.extensions"

# The first that knows GetWebIdentityToken.
OLDEST_BOTO3 = (1, 42, 25)
SIGNING_ALGORITHMS = ("ES384", "RS256")
SHORTEST_SECONDS, LONGEST_SECONDS = 60, 3600
MOST_TAGS = 50
TAG = "tag_"

Callback = Callable[[str | None], tuple[str, float, str, dict[str, str]]]


def token_callback(given: Mapping[Any, Any]) -> Callback | None:
    """The `oauth_cb` that asks AWS, if a configuration says so and has none of its own.

    Raises: ValueError, ImportError without boto3, and what boto3 does of a region or an address.
    """
    if given.get(TYPE) != AWS_IAM or "oauth_cb" in given:
        return None
    method = given.get(METHOD)
    if method != "oidc":
        raise ValueError(
            f"'{TYPE}={AWS_IAM}' requires '{METHOD}=oidc'. Current value: {_shown(given, METHOD)}. "
            "method=oidc is mandatory for the AWS IAM authentication path."
        )
    config, extensions = given.get(CONFIG), given.get(EXTENSIONS)
    if not isinstance(config, str) or not config:
        raise ValueError(
            f"'{TYPE}={AWS_IAM}' is set but '{CONFIG}' is missing or empty. The AWS IAM autowire path "
            f"requires region and audience to be supplied via {CONFIG} "
            '(e.g. "region=us-east-1,audience=https://...").'
        )
    try:
        boto3 = importlib.import_module("boto3")
    except ImportError as error:
        raise ImportError(
            f"Config '{TYPE}={AWS_IAM}' requires the optional 'oauthbearer-aws' extra. Install with:\n"
            "    pip install 'barnabas[oauthbearer-aws]'"
        ) from error
    pairs = parse_key_values(extensions, ",", EXTENSIONS) if isinstance(extensions, str) else []
    return _Tokens(WebIdentityRequest.parse(config), dict(pairs), boto3).token


def _shown(given: Mapping[Any, Any], name: str) -> str:
    if given.get(name) is None:
        return "<unset>"
    return f"'{given[name]}'" if isinstance(given[name], str) else "<non-string>"


@dataclass(slots=True)
class WebIdentityRequest:
    """What `sasl.oauthbearer.config` asks for."""

    region: str | None = None
    audience: str | None = None
    signing_algorithm: str = "ES384"
    duration_seconds: int = 300
    sts_endpoint: str | None = None
    aws_debug: str = "none"
    tags: dict[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def parse(cls, config: str) -> WebIdentityRequest:
        """Raises: ValueError."""
        request = cls()
        for name, value in parse_key_values(config, ",", CONFIG):
            request._take(name, value)
        for name in ("region", "audience"):
            if getattr(request, name) is None:
                raise ValueError(f"'{name}' is required in {CONFIG}.")
        request._check()
        return request

    def _take(self, name: str, value: str) -> None:
        if name == "duration_seconds":
            try:
                self.duration_seconds = int(value)
            except ValueError as error:
                raise ValueError(f"{CONFIG} '{name}' must be an integer; got {value!r}.") from error
        elif name in ("region", "audience", "signing_algorithm", "sts_endpoint", "aws_debug"):
            if not value:
                raise ValueError(f"{CONFIG} '{name}' must not be empty.")
            setattr(self, name, value.lower() if name == "aws_debug" else value)
        elif name == TAG:
            raise ValueError(f"{CONFIG} tag key '{TAG}' has empty name.")
        elif name.startswith(TAG):
            self.tags[name.removeprefix(TAG)] = value
        else:
            raise ValueError(f"Unknown key {name!r} in {CONFIG}.")

    def _check(self) -> None:
        if self.signing_algorithm not in SIGNING_ALGORITHMS:
            names = " or ".join(map(repr, SIGNING_ALGORITHMS))
            got = self.signing_algorithm
            raise ValueError(f"{CONFIG} 'signing_algorithm' must be {names}; got {got!r}.")
        if not SHORTEST_SECONDS <= self.duration_seconds <= LONGEST_SECONDS:
            raise ValueError(
                f"{CONFIG} 'duration_seconds' must be between {SHORTEST_SECONDS} and {LONGEST_SECONDS} "
                f"inclusive; got {self.duration_seconds}."
            )
        if self.aws_debug not in ("none", "console"):
            raise ValueError(f"{CONFIG} 'aws_debug' must be one of: none, console. Got {self.aws_debug!r}.")
        if len(self.tags) > MOST_TAGS:
            raise ValueError(f"{CONFIG} has {len(self.tags)} tags; AWS allows at most {MOST_TAGS}.")


class _Tokens:
    def __init__(self, request: WebIdentityRequest, extensions: dict[str, str], boto3: Any) -> None:
        if request.aws_debug == "console":
            boto3.set_stream_logger("botocore", logging.DEBUG)
        if _numbers(boto3.__version__) < OLDEST_BOTO3:
            oldest = ".".join(map(str, OLDEST_BOTO3))
            raise ImportError(
                f"The AWS IAM OAUTHBEARER path requires boto3>={oldest} (for the STS GetWebIdentityToken "
                f"operation), but found boto3 {boto3.__version__}. Upgrade with: "
                "pip install -U 'barnabas[oauthbearer-aws]'."
            )
        self._request = request
        self._extensions = extensions
        self._service = boto3.Session(region_name=request.region).client(
            "sts", region_name=request.region, endpoint_url=request.sts_endpoint
        )

    def token(self, _config: str | None) -> tuple[str, float, str, dict[str, str]]:
        """Asks for a token. Raises: ValueError, botocore's exceptions."""
        request = self._request
        tags = [{"Key": name, "Value": value} for name, value in request.tags.items()]
        answer: dict[str, Any] = self._service.get_web_identity_token(
            Audience=[request.audience],
            SigningAlgorithm=request.signing_algorithm,
            DurationSeconds=request.duration_seconds,
            **({"Tags": tags} if tags else {}),
        )
        token, expiration = answer.get("WebIdentityToken"), answer.get("Expiration")
        if not token or expiration is None:
            raise ValueError("AWS answered without a WebIdentityToken, or without its Expiration")
        return token, expiration.timestamp(), _subject(token), dict(self._extensions)


def _numbers(version: str) -> tuple[int, ...]:
    """The first three numbers of a version; `1.42.0rc1` is 1.42.0."""
    return tuple(int(number) for number in re.findall(r"(?:^|\.)(\d+)", version)[:3])


def _subject(token: str) -> str:
    """Whose token it is. Raises: ValueError."""
    parts = token.split(".")
    if len(parts) != 3:
        raise ValueError("AWS's token is no JSON Web Token")
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    subject = claims.get("sub")
    if not isinstance(subject, str) or not subject:
        raise ValueError("AWS's token names no subject")
    return subject
