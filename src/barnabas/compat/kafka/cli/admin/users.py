"""`python -m kafka.admin users`."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka.admin._users import UserScramCredentialDeletion, UserScramCredentialUpsertion
from barnabas.compat.kafka.cli._argument import number, texts
from barnabas.compat.kafka.cli.admin._command import CommandGroup, command


@command(
    *("describe-scram-credentials", "Describe SCRAM credentials for Kafka users"),
    texts("--user", "users", "User name to describe (repeatable). If omitted, describes all users."),
)
def describe_user_scram_credentials(client: Any, args: Any) -> Any:
    return client.describe_user_scram_credentials(args.users or None)


@command(
    *("alter-scram-credentials", "Alter SCRAM credentials for Kafka users"),
    texts("--delete", "deletions", "USER:MECHANISM pair to delete (e.g. alice:SCRAM-SHA-256)"),
    texts("--upsert", "upsertions", "USER:MECHANISM:PASSWORD triple to insert or update"),
    number("--iterations", "PBKDF2 iteration count for upsertions (default: 4096)"),
)
def alter_user_scram_credentials(client: Any, args: Any) -> Any:
    deletions = [UserScramCredentialDeletion(*given.split(":", 1)) for given in args.deletions]
    upsertions = [
        UserScramCredentialUpsertion(*given.split(":", 2), iterations=args.iterations)
        for given in args.upsertions
    ]
    return client.alter_user_scram_credentials([*deletions, *upsertions])


USERS = CommandGroup(
    "users", "Manage Kafka Users", (describe_user_scram_credentials, alter_user_scram_credentials)
)
