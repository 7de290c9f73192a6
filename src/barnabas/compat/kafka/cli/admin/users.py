"""`python -m kafka.admin users`."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka.admin._users import UserScramCredentialDeletion, UserScramCredentialUpsertion
from barnabas.compat.kafka.cli.admin._command import Command, CommandGroup, Parser


class DescribeUserScramCredentials(Command):
    COMMAND = "describe-scram-credentials"
    HELP = "Describe SCRAM credentials for Kafka users"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument(
            "--user",
            type=str,
            action="append",
            dest="users",
            default=[],
            help="User name to describe (repeatable). If omitted, describes all users.",
        )

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        return client.describe_user_scram_credentials(args.users or None)


class AlterUserScramCredentials(Command):
    COMMAND = "alter-scram-credentials"
    HELP = "Alter SCRAM credentials for Kafka users"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument(
            "--delete",
            type=str,
            action="append",
            dest="deletions",
            default=[],
            help="USER:MECHANISM pair to delete (e.g. alice:SCRAM-SHA-256)",
        )
        parser.add_argument(
            "--upsert",
            type=str,
            action="append",
            dest="upsertions",
            default=[],
            help="USER:MECHANISM:PASSWORD triple to insert or update",
        )
        parser.add_argument(
            "--iterations",
            type=int,
            default=None,
            help="PBKDF2 iteration count for upsertions (default: 4096)",
        )

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        deletions = [UserScramCredentialDeletion(*text.split(":", 1)) for text in args.deletions]
        upsertions = [
            UserScramCredentialUpsertion(*text.split(":", 2), iterations=args.iterations)
            for text in args.upsertions
        ]
        return client.alter_user_scram_credentials([*deletions, *upsertions])


class UsersCommandGroup(CommandGroup):
    GROUP = "users"
    HELP = "Manage Kafka Users"
    COMMANDS = (DescribeUserScramCredentials, AlterUserScramCredentials)
