"""What AdminClient asks brokers about passwords for SASL/SCRAM.

Owns what answers are to programs. Knows nothing of futures and arguments.
"""

from __future__ import annotations

from barnabas.client.admin import types
from barnabas.client.admin.requests import credentials as credential_requests
from barnabas.client.admin.requests.common import first_code
from barnabas.compat.confluent_kafka.admin._options import CallOptions
from barnabas.compat.confluent_kafka.admin._scram import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialDeletion,
    UserScramCredentialsDescription,
    UserScramCredentialUpsertion,
)
from barnabas.compat.librdkafka.cluster.broker_requests import (
    BrokerRequests,
    broker_error,
    invalid_argument,
    results,
)
from barnabas.compat.librdkafka.values.errors import KafkaError, KafkaException

SALT_BYTES = 64


async def describe_user_scram_credentials(
    requests: BrokerRequests, users: list[str] | None, options: CallOptions
) -> dict[str, UserScramCredentialsDescription | KafkaError]:
    """The passwords of each user, or why they are not told; None: of all users that have any."""
    if users is not None and len(set(users)) != len(users):
        raise invalid_argument("Duplicate users aren't allowed in the same request")
    if users == []:
        return {}
    request = credential_requests.describe_credentials(users)
    response = await requests.ask_controller(request, code=lambda response: response.error_code)
    error = broker_error(response.error_code, response.error_message)
    if error is not None:
        raise KafkaException(error)
    return {
        answer.key: broker_error(answer.code, answer.message) or _description(answer.key, answer.result)
        for answer in credential_requests.described_credentials(response)
    }


async def alter_user_scram_credentials(
    requests: BrokerRequests, alterations: list[UserScramCredentialAlteration], options: CallOptions
) -> dict[str, KafkaError | None]:
    """The outcome of each user's alterations."""
    wanted: list[types.ScramUpsertion | types.ScramDeletion] = []
    for index, alteration in enumerate(alterations):
        if isinstance(alteration, UserScramCredentialDeletion):
            mechanism = _mechanism(alteration.mechanism, index)
            wanted.append(types.ScramDeletion(alteration.user, mechanism))
        elif isinstance(alteration, UserScramCredentialUpsertion):
            info = alteration.scram_credential_info
            mechanism = _mechanism(info.mechanism, index)
            upsertion = types.ScramUpsertion(
                alteration.user, mechanism, alteration.password, info.iterations, alteration.salt
            )
            wanted.append(upsertion)
    request = credential_requests.alter_credentials(wanted, salt_bytes=SALT_BYTES)
    response = await requests.ask_controller(
        request, code=lambda response: first_code(result.error_code for result in response.results)
    )
    return results(credential_requests.altered_credentials(response))


def _mechanism(mechanism: ScramMechanism, index: int) -> types.ScramMechanism:
    if mechanism is ScramMechanism.UNKNOWN:
        raise invalid_argument(f"SCRAM mechanism must be specified at index {index}")
    return types.ScramMechanism(mechanism.value)


def _description(user: str, infos: tuple[types.ScramCredentialInfo, ...]) -> UserScramCredentialsDescription:
    return UserScramCredentialsDescription(
        user, [ScramCredentialInfo(ScramMechanism(info.mechanism.value), info.iterations) for info in infos]
    )
