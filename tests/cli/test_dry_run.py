"""--dry-run shows what a command would do, fails where the command would, and changes nothing."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer.main

from barnabas import Producer
from barnabas.cli.application import app
from barnabas.testing import EmbeddedBroker, EmbeddedRegistry, SecureListeners

Here = Callable[..., Any]
Made = Callable[..., str]

UNCHANGED = "nothing was changed: this was --dry-run\n"


def commands_below(command: Any, name: str) -> Iterator[tuple[str, set[str]]]:
    for word, each in getattr(command, "commands", {}).items():
        yield from commands_below(each, f"{name} {word}")
    yield name, {option for parameter in command.params for option in parameter.opts}


def failed(done: Any) -> str:
    """Its one line of an error."""
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_every_command_that_asks_has_a_dry_run() -> None:
    found = dict(commands_below(typer.main.get_command(app), "barnabas"))
    asking = {name for name, options in found.items() if "--yes" in options}
    assert "barnabas topics delete" in asking
    assert {name for name in asking if "--dry-run" not in found[name]} == set()


def test_a_topic_is_created_and_altered_only_without_it(here: Here, topic: Callable[[], str]) -> None:
    name = topic()
    assert here("topics", "create", name, "--dry-run").stderr == f"would create topic {name}\n{UNCHANGED}"
    assert name in failed(here("topics", "alter", name, "-p", "3", "--dry-run", ok=False))
    here("topics", "create", name)
    assert name in failed(here("topics", "create", name, "--dry-run", ok=False))
    done = here("topics", "alter", name, "-p", "3", "-c", "retention.ms=1", "--dry-run")
    assert done.stderr == f"would alter topic {name}\n{UNCHANGED}"
    failed(here("topics", "alter", name, "-c", "retention.ms=soon", "--dry-run", ok=False))
    (found,) = json.loads(here("topics", "describe", name, "--json").stdout)
    assert (len(found["partitions"]), found["configs"]) == (1, {"min.insync.replicas": "1"})


def test_a_group_is_deleted_only_without_it(here: Here, made: Made) -> None:
    name = made()
    here("produce", name, input="a\n")
    here("consume", name, "--group", name, "--from-beginning", "--max", "1")
    done = here("groups", "delete", name, "--dry-run")
    assert done.stderr == f"would delete {name} with their offsets\n{UNCHANGED}"
    wrong = failed(here("groups", "delete", name, f"{name}x", "--dry-run", ok=False))
    assert wrong == f"error: there is no group {f'{name}x'!r}; did you mean {name!r}?\n"
    assert name in here("groups", "list").stdout
    # Of another kind.
    assert "there is no group" in failed(here("share-groups", "delete", name, "--dry-run", ok=False))


def test_a_share_group_is_deleted_only_without_it(here: Here, made: Made) -> None:
    name = made()
    here("share-groups", "reset-offsets", name, "--topic", name, "--to-earliest", "--yes")
    assert here("share-groups", "delete", name, "--dry-run").stderr == f"would delete {name}\n{UNCHANGED}"
    assert name in here("share-groups", "list").stdout


def test_a_users_password_is_set_and_deleted_only_without_it(here: Here, topic: Callable[[], str]) -> None:
    name = topic()
    password = f"password of {name} for SCRAM-SHA-512\n{UNCHANGED}"
    assert here("users", "set", name, "--dry-run").stderr == f"would make a {password}"
    assert name in failed(here("users", "delete", name, "--dry-run", ok=False))
    here("users", "set", name, input="secret\n")
    assert here("users", "set", name, "--dry-run").stderr == f"would replace the {password}"
    assert here("users", "delete", name, "--dry-run").stderr == f"would delete the {password}"
    wrong = failed(here("users", "delete", name, "-m", "SCRAM-SHA-256", "--dry-run", ok=False))
    assert wrong == f"error: user {name!r} has no password for SCRAM-SHA-256\n"
    assert name in here("users", "list").stdout


def test_a_transaction_is_ended_only_without_it(
    here: Here, made: Made, embedded_broker: EmbeddedBroker
) -> None:
    name = made()
    with Producer(embedded_broker.bootstrap, transactional_id=name) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(name, b"a").result()
        done = here("transactions", "abort", f"{name}:0", "--start-offset", "0", "--dry-run")
        assert done.stderr.startswith("would abort the transaction of producer ")
        done = here("transactions", "fence", name, "--dry-run")
        assert done.stderr == f"would shut out the producers of {name}\n{UNCHANGED}"
        producer.commit_transaction()
    # To fence it would make it.
    for option in ("--dry-run", "--yes"):
        assert f"{name}x" in failed(here("transactions", "fence", f"{name}x", option, ok=False))


def test_replicas_and_leaders_stay_where_they_are(here: Here, made: Made) -> None:
    name = made()
    (row,) = json.loads(here("elect", name, "--dry-run", "--json").stdout)
    assert (row["topic"], row["replicas"], row["elected"]) == (name, [row["leader"]], False)
    (unclean,) = json.loads(here("elect", name, "--unclean", "--dry-run", "--json").stdout)
    assert unclean == row
    assert "no replicas move" in here("reassign", "cancel", name, "--dry-run").stderr
    (folder,) = json.loads(here("log-dirs", "list", "--json").stdout)
    move = ("log-dirs", "move", name, "--broker", str(folder["broker"]), "--dry-run", "--to")
    assert here(*move, folder["path"]).stderr.startswith(f"would move {name}-0 of broker ")
    assert "has no folder '/elsewhere'" in failed(here(*move, "/elsewhere", ok=False))


def test_brokers_and_controllers_stay_what_they_are(here: Here) -> None:
    (broker,) = json.loads(here("brokers", "list", "--json").stdout)
    done = here("brokers", "unregister", str(broker["id"]), "--dry-run")
    assert done.stderr == f"would forget broker {broker['id']}\n{UNCHANGED}"
    assert "no broker 77" in failed(here("brokers", "unregister", "77", "--dry-run", ok=False))
    (voter,) = json.loads(here("quorum", "describe", "--json").stdout)["replicas"]
    controller = (str(voter["id"]), voter["directory_id"], "--dry-run")
    done = here("quorum", "remove", *controller)
    assert done.stderr == f"would take controller {voter['id']} out of the voters\n{UNCHANGED}"
    elsewhere = (str(voter["id"]), str(uuid.uuid4()), "--dry-run")
    assert "is a voter" in failed(here("quorum", "remove", *elsewhere, ok=False))
    added = ("quorum", "add", *controller, "--endpoint", "CONTROLLER://localhost:1")
    assert "follows" in failed(here(*added, ok=False))


def test_a_token_is_made_renewed_and_ended_only_without_it(here: Here, tmp_path: Path) -> None:
    with EmbeddedBroker(security=SecureListeners(), storage="memory") as broker:
        settings = tmp_path / "admin.properties"
        settings.write_text(
            f"bootstrap.servers={broker.bootstrap_for('SASL_PLAINTEXT')}\n"
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n"
            "sasl.username=admin\nsasl.password=admin-secret\n"
        )
        on_it = {"BARNABAS_COMMAND_CONFIG": str(settings), "BARNABAS_BOOTSTRAP": ""}
        done = here("tokens", "create", "--dry-run", **on_it)
        assert done.stderr == f"would create a token of whoever connects\n{UNCHANGED}"
        assert json.loads(here("tokens", "list", "--json", **on_it).stdout) == []
        token = json.loads(here("tokens", "create", "--json", **on_it).stdout)
        for word, verb in (("renew", "renew"), ("expire", "end")):
            done = here("tokens", word, token["hmac"], "--dry-run", **on_it)
            assert done.stderr.startswith(f"would {verb} token {token['token_id']} of User:admin, ")
            wrong = failed(here("tokens", word, "AAAA", "--dry-run", ok=False, **on_it))
            assert "there is no token with this HMAC" in wrong
        (found,) = json.loads(here("tokens", "list", "--json", **on_it).stdout)
        assert found["expires_at_ms"] == token["expires_at_ms"]
        two_hours = json.loads(here("tokens", "create", "--max-lifetime", "2h", "--json", **on_it).stdout)
        assert two_hours["ends_at_ms"] - two_hours["issued_at_ms"] == 2 * 3_600_000
        for word in ("renew", "expire"):
            here(
                "tokens",
                word,
                two_hours["hmac"],
                "--period",
                "30m",
                *(["--yes"] * (word == "expire")),
                **on_it,
            )
        (left,) = [
            each
            for each in json.loads(here("tokens", "list", "--json", **on_it).stdout)
            if each["token_id"] == two_hours["token_id"]
        ]
        assert left["expires_at_ms"] < two_hours["ends_at_ms"]


def test_a_profile_is_removed_only_without_it(here: Here, tmp_path: Path) -> None:
    home = {"XDG_CONFIG_HOME": str(tmp_path)}
    here("profile", "add", "prod", "--bootstrap", "kafka:9092", **home)
    done = here("profile", "remove", "prod", "--dry-run", **home)
    assert done.stderr == f"would delete profile prod\n{UNCHANGED}"
    failed(here("profile", "remove", "other", "--dry-run", ok=False, **home))
    assert "prod" in here("profile", "list", **home).stdout


def test_a_schema_is_registered_and_deleted_only_without_it(here: Here) -> None:
    first = '{"type": "record", "name": "U", "fields": [{"name": "id", "type": "long"}]}'
    other = first.replace("long", "string")
    with EmbeddedRegistry() as registry:

        def schemas(*arguments: str, **more: Any) -> Any:
            return here("schemas", *arguments, BARNABAS_REGISTRY=registry.url, **more)

        register = ("register", "users", "-", "--type", "avro")
        done = schemas(*register, "--dry-run", input=first)
        assert done.stderr.startswith("would register a schema of users")
        failed(schemas("delete", "users", "--dry-run", ok=False))
        schemas(*register, input=first)
        wrong = failed(schemas(*register, "--dry-run", input=other, ok=False))
        assert wrong.startswith("error: not compatible with users: ")
        wrong = failed(schemas("delete", "users", "--permanent", "--dry-run", ok=False))
        assert wrong == "error: users version 1: to be deleted without --permanent first\n"
        done = schemas("delete", "users", "--dry-run")
        assert done.stderr == f"would delete users version 1\n{UNCHANGED}"
        assert json.loads(schemas("list", "--json").stdout) == {"users": [1]}
        schemas("delete", "users", "--yes")
        done = schemas("delete", "users", "--permanent", "--dry-run")
        assert done.stderr == f"would delete users version 1 permanently\n{UNCHANGED}"
