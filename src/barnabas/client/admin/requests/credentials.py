"""SCRAM credentials (KIP-554). A password is hashed here: the broker never sees it."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable

from barnabas.client.admin.requests.common import Answer
from barnabas.client.admin.types import ScramCredentialInfo, ScramDeletion, ScramMechanism, ScramUpsertion
from barnabas.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
from barnabas.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)

SALT_BYTES = 24
DIGESTS = {ScramMechanism.SCRAM_SHA_256: "sha256", ScramMechanism.SCRAM_SHA_512: "sha512"}


def describe_credentials(users: Iterable[str] | None) -> DescribeUserScramCredentialsRequest:
    """None: of all users that have any."""
    return DescribeUserScramCredentialsRequest(
        users=None
        if users is None
        else [DescribeUserScramCredentialsRequest.UserName(name=name) for name in users]
    )


def described_credentials(
    response: DescribeUserScramCredentialsResponse,
) -> list[Answer[str, tuple[ScramCredentialInfo, ...]]]:
    return [
        Answer(
            result.user,
            tuple(
                ScramCredentialInfo(ScramMechanism(info.mechanism), info.iterations)
                for info in result.credential_infos
            ),
            result.error_code,
            result.error_message,
        )
        for result in response.results
    ]


def alter_credentials(
    alterations: Iterable[ScramUpsertion | ScramDeletion], *, salt_bytes: int = SALT_BYTES
) -> AlterUserScramCredentialsRequest:
    """Mechanisms are those of DIGESTS. `salt_bytes`: how long a salt is that is made up."""
    request = AlterUserScramCredentialsRequest(deletions=[], upsertions=[])
    for alteration in alterations:
        if isinstance(alteration, ScramDeletion):
            deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion(
                name=alteration.user, mechanism=alteration.mechanism
            )
            request.deletions.append(deletion)
        else:
            request.upsertions.append(_upsertion(alteration, salt_bytes))
    return request


def altered_credentials(response: AlterUserScramCredentialsResponse) -> list[Answer[str, None]]:
    return [Answer(result.user, None, result.error_code, result.error_message) for result in response.results]


def _upsertion(
    wanted: ScramUpsertion, salt_bytes: int
) -> AlterUserScramCredentialsRequest.ScramCredentialUpsertion:
    salt = secrets.token_bytes(salt_bytes) if wanted.salt is None else wanted.salt
    password = wanted.password.encode() if isinstance(wanted.password, str) else wanted.password
    return AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
        name=wanted.user,
        mechanism=wanted.mechanism,
        iterations=wanted.iterations,
        salt=salt,
        salted_password=hashlib.pbkdf2_hmac(DIGESTS[wanted.mechanism], password, salt, wanted.iterations),
    )
