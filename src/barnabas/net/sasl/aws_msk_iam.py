"""SASL AWS_MSK_IAM: a signed request in place of a password, as Amazon MSK takes it.

Owns the message. Where keys come from and how they sign is other modules'.
"""

from __future__ import annotations

import json
import os
import platform
import re
from datetime import UTC, datetime

from barnabas.errors import CredentialsError, SaslAuthenticationError
from barnabas.net.sasl.aws_credentials import AwsCredentialsFinder
from barnabas.net.sasl.mechanism import Conversation
from barnabas.net.sasl.sigv4 import presigned_query
from barnabas.settings.table import CommonConfig

VERSION = "2020_10_22"
SERVICE = "kafka-cluster"
ACTION = "kafka-cluster:Connect"
EXPIRES_SECONDS = 900
_REGION_IN_HOST = re.compile(r"\.([a-z]{2}(?:-[a-z]+)+-\d)\.(?:vpce\.)?amazonaws\.com")


class AwsMskIam:
    """The mechanism AWS_MSK_IAM."""

    name = "AWS_MSK_IAM"
    # Keys change all the time, and whom they stand for is the broker's to find out.
    identity = None

    def __init__(self, config: CommonConfig) -> None:
        self._finder = AwsCredentialsFinder(config)
        self._region = config.aws_region

    def converse(self, host: str) -> AwsMskIamConversation:
        return AwsMskIamConversation(self._finder, host, self._region)


class AwsMskIamConversation(Conversation):
    """One message, which the broker answers with the id of the request."""

    def __init__(self, finder: AwsCredentialsFinder, host: str, region: str | None) -> None:
        self._finder = finder
        self._host = host
        self._region = region

    async def first(self) -> bytes:
        region = self._region or _region(self._host)
        credentials = await self._finder.find()
        query = presigned_query(
            credentials,
            host=self._host,
            path="/",
            parameters={"Action": ACTION},
            service=SERVICE,
            region=region,
            at=datetime.now(UTC),
            expires_seconds=EXPIRES_SECONDS,
        )
        message = {name.lower(): value for name, value in query.items()}
        message |= {
            "version": VERSION,
            "host": self._host,
            "user-agent": f"barnabas/python/{platform.python_version()}",
        }
        return json.dumps(message).encode()

    async def reply(self, challenge: bytes) -> bytes | None:
        try:
            is_fit = json.loads(challenge)["version"] == VERSION
        except (ValueError, KeyError, TypeError):
            is_fit = False
        if not is_fit:
            raise SaslAuthenticationError("the broker does not keep to AWS_MSK_IAM: its answer is no such")
        return None


def _region(host: str) -> str:
    found = _REGION_IN_HOST.search(host)
    region = found[1] if found else os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if not region:
        raise CredentialsError(f"no region of AWS can be read from the host name {host!r}: give aws_region")
    return region
