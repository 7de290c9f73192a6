"""What AdminClient asks brokers about passwords for SASL/SCRAM.

Owns the requests and what their answers are to programs. Knows nothing of futures and arguments.
"""

from __future__ import annotations

import hashlib
import secrets

from barnabas.compat.confluent_kafka.admin._options import CallOptions
from barnabas.compat.confluent_kafka.admin._scram import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialDeletion,
    UserScramCredentialsDescription,
    UserScramCredentialUpsertion,
)
from barnabas.compat.librdkafka.ask.requests import BrokerRequests, broker_error, invalid_argument
from barnabas.compat.librdkafka.values.errors import KafkaError, KafkaException
from barnabas.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from barnabas.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)

SALT_BYTES = 64
DIGESTS = {ScramMechanism.SCRAM_SHA_256: "sha256", ScramMechanism.SCRAM_SHA_512: "sha512"}


async def describe_user_scram_credentials(
    requests: BrokerRequests, users: list[str] | None, options: CallOptions
) -> dict[str, UserScramCredentialsDescription | KafkaError]:
    """The passwords of each user, or why they are not told; None: of all users that have any."""
    if users is not None and len(set(users)) != len(users):
        raise invalid_argument("Duplicate users aren't allowed in the same request")
    if users == []:
        return {}
    request = DescribeUserScramCredentialsRequest(
        users=None
        if users is None
        else [DescribeUserScramCredentialsRequest.UserName(name=name) for name in users]
    )
    response = await requests.ask_controller(request, code=lambda response: response.error_code)
    error = broker_error(response.error_code, response.error_message)
    if error is not None:
        raise KafkaException(error)
    return {
        result.user: broker_error(result.error_code, result.error_message) or _description(result)
        for result in response.results
    }


async def alter_user_scram_credentials(
    requests: BrokerRequests, alterations: list[UserScramCredentialAlteration], options: CallOptions
) -> dict[str, KafkaError | None]:
    """What became of each user's alterations."""
    request = AlterUserScramCredentialsRequest(deletions=[], upsertions=[])
    for index, alteration in enumerate(alterations):
        if isinstance(alteration, UserScramCredentialDeletion):
            _check_mechanism(alteration.mechanism, index)
            deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion(
                name=alteration.user, mechanism=alteration.mechanism.value
            )
            request.deletions.append(deletion)
        elif isinstance(alteration, UserScramCredentialUpsertion):
            _check_mechanism(alteration.scram_credential_info.mechanism, index)
            request.upsertions.append(_upsertion(alteration))
    response = await requests.ask_controller(
        request, code=lambda response: next((r.error_code for r in response.results if r.error_code), 0)
    )
    return {result.user: broker_error(result.error_code, result.error_message) for result in response.results}


def _check_mechanism(mechanism: ScramMechanism, index: int) -> None:
    if mechanism not in DIGESTS:
        raise invalid_argument(f"SCRAM mechanism must be specified at index {index}")


def _description(
    result: DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult,
) -> UserScramCredentialsDescription:
    known = {mechanism.value for mechanism in DIGESTS}
    return UserScramCredentialsDescription(
        result.user,
        [
            ScramCredentialInfo(
                ScramMechanism(info.mechanism) if info.mechanism in known else ScramMechanism.UNKNOWN,
                info.iterations,
            )
            for info in result.credential_infos
        ],
    )


def _upsertion(
    wanted: UserScramCredentialUpsertion,
) -> AlterUserScramCredentialsRequest.ScramCredentialUpsertion:
    info = wanted.scram_credential_info
    salt = secrets.token_bytes(SALT_BYTES) if wanted.salt is None else wanted.salt
    return AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
        name=wanted.user,
        mechanism=info.mechanism.value,
        iterations=info.iterations,
        salt=salt,
        salted_password=hashlib.pbkdf2_hmac(DIGESTS[info.mechanism], wanted.password, salt, info.iterations),
    )
