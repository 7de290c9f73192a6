"""Credentials of users for SCRAM (KIP-554). Knows no shape of answers."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.compat.kafka_engine.admin.session import BrokerAnswer, BrokerSession
from barnabas.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
from barnabas.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)


async def alter_credentials(
    session: BrokerSession,
    deletions: Iterable[tuple[str, int]],
    upsertions: Iterable[tuple[str, int, int, bytes, bytes]],
) -> BrokerAnswer[AlterUserScramCredentialsResponse]:
    """`upsertions`: user, Kafka's number for the mechanism, iterations, salt and salted password."""
    request = AlterUserScramCredentialsRequest(
        deletions=[AlterUserScramCredentialsRequest.ScramCredentialDeletion(*each) for each in deletions],
        upsertions=[AlterUserScramCredentialsRequest.ScramCredentialUpsertion(*each) for each in upsertions],
    )
    return await session.ask_controller(
        request, lambda response: [each.error_code for each in response.results]
    )


async def describe_credentials(
    session: BrokerSession, users: Iterable[str] | None
) -> BrokerAnswer[DescribeUserScramCredentialsResponse]:
    """Of users, of all for None."""
    names = None if users is None else [DescribeUserScramCredentialsRequest.UserName(user) for user in users]
    return await session.ask(DescribeUserScramCredentialsRequest(users=names))
