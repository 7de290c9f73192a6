"""What commands print with --json is what docs/reference/json.md says, of every one that takes it.

The command lines here are held against the shapes by `here`, as those of all other tests are.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Cli, Ended, command_line, run_here
from tests.cli.json_shapes.matching import check_json, command_of, commands_with_json, mismatch
from tests.cli.test_pipeline_status import write_checkpoint
from tests.programs import running

from barnabas import Admin, Consumer, NewTopic, Producer
from barnabas.cli.json_shapes.catalog import OUTPUTS, JsonOutput
from barnabas.testing import EmbeddedBroker, EmbeddedRegistry, SecureListeners

HOUR_MS = 3_600_000
ROOT = Path(__file__).parents[3]
GUARDED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
ELSEWHERE = {
    "bench consume": "test_bench.py",
    "bench latency": "test_bench.py",
    "bench produce": "test_bench.py",
    "dlq replay": "dlq/test_replay.py",
    "pipeline plan": "test_pipeline_plan.py",
    "spark precompile": "test_spark.py",
}
"""Commands that other files run with --json, by the file."""
SERVERS = {
    "up": ("--port", "0", "--registry", "--registry-port", "0", "--faults-port", "0", "--ui-port", "0"),
    "ui": ("--port", "0"),
    "registry": ("--embedded", "--port", "0"),
    "faults": ("--faults-port", "0"),
}
"""What each takes to run on ports that are free."""
LINES = (
    "produce t",
    "consume t -o beginning -e",
    "consume t -o beginning -e --select key --select value",
    "consume t -o beginning -e --stats",
    "copy t --to copied --create-topics",
    "copy t --to other --create-topics --dry-run",
    "cluster",
    "health --skip groups",
    "delete-records t --before-offset 0 --dry-run",
    "elect t",
    "elect t --dry-run",
    "topics list",
    "topics list --long",
    "topics offsets t",
    "topics offsets t --at latest",
    "topics diff t --to-bootstrap ONE --records",
    "topics describe t",
    "acls create --allow User:bob --operation read --topic t",
    "acls list",
    "acls delete --topic t --dry-run",
    "brokers list",
    "brokers api-versions",
    "configs list",
    "configs set topic t retention.ms=5000 --dry-run",
    "configs describe topic t",
    "configs describe broker 1 --all --documentation",
    "configs delete topic t --dry-run",
    "features list",
    "log-dirs list",
    "log-dirs replicas",
    "log-dirs verify",
    "quorum describe",
    "quotas list",
    "reassign start t --brokers 1,2 --dry-run",
    "reassign verify t",
    "reassign list",
    "share-groups reset-offsets shared --topic t --to-earliest --dry-run",
    "share-groups list",
    "share-groups describe shared",
    "share-groups describe --pattern shared.*",
    "transactions list",
    "transactions describe open",
    "transactions producers t",
    "transactions find-hanging --open-for 0",
    "users list",
    "faults list",
    "faults requests Metadata",
    "faults nodes list",
    "groups list",
    "groups list --lag",
    "groups list --seconds",
    "groups list --lag --watch --looks 2 --interval 0.1",
    "groups describe readers",
    "groups describe readers --seconds",
    "groups describe readers --watch --looks 2 --interval 0.1",
    "groups members members",
    "groups reset-offsets readers --to-earliest --dry-run",
    "groups delete-offsets readers --topic t --dry-run",
    "migrate scan old.py",
    "pipeline status --checkpoint checkpoint",
    "pipeline carry-over checkpoint",
    "schemas register t-value t.avsc",
    "schemas list",
    "schemas show t-value",
    "schemas show --id 1",
    "schemas check t.avsc --subject t-value",
    "schemas config",
    "tokens create",
    "tokens list",
    "profile list",
    "profile show prod",
)
SCHEMA = '{"type": "record", "name": "T", "fields": [{"name": "id", "type": "long"}]}'
CHANGES = ("lag", "catch-up", "part", "join", "pause", "resume", "stop", "start", "kill", "start")
"""Of a node by `faults nodes`, in an order in which each may be."""
EMPTY = ("reassign list", "log-dirs verify", "transactions find-hanging")
"""Of which there is nothing to show here; their rows are in the tests of what they do."""


@dataclass
class Place:
    run: Callable[..., Ended]
    folder: Path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("json")
    (folder / "t.avsc").write_text(
        '{"type": "record", "name": "T", "fields": [{"name": "id", "type": "long"}]}'
    )
    (folder / "old.py").write_text("from kafka import SimpleConsumer\n")
    (folder / "checkpoint").mkdir()
    write_checkpoint(folder / "checkpoint", "t")
    secure = EmbeddedBroker(security=SecureListeners(), storage="memory")
    with (
        EmbeddedBroker(nodes=3, config=GUARDED) as broker,
        EmbeddedBroker() as one,
        EmbeddedRegistry() as registry,
        secure,
    ):
        (folder / "admin.properties").write_text(
            f"bootstrap.servers={secure.bootstrap_for('SASL_PLAINTEXT')}\n"
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n"
            "sasl.username=admin\nsasl.password=admin-secret\n"
        )
        environment = {
            "BARNABAS_REGISTRY": registry.url,
            "BARNABAS_FAULTS": broker.faults.url,
            "XDG_CONFIG_HOME": str(folder),
        }
        here = run_here(broker.bootstrap)

        def run(line: str) -> Ended:
            places = {"ONE": one.bootstrap, "t.avsc": str(folder / "t.avsc")}
            words = [places.get(word, word) for word in line.split()]
            at_tokens = {
                "BARNABAS_COMMAND_CONFIG": str(folder / "admin.properties"),
                "BARNABAS_BOOTSTRAP": "",
            }
            more = at_tokens if words[0] == "tokens" else {}
            ended = here(*words, "--json", input="a\n", ok=False, **environment, **more)
            assert "error" not in ended.stderr.lower(), ended.stderr
            return ended

        prepare(here, broker, environment)
        run("tokens create")
        run("schemas register t-value t.avsc")
        with (
            Producer(broker.bootstrap, transactional_id="open") as producer,
            Consumer(
                broker.bootstrap, topics=["watched"], group_id="members", max_poll_interval_ms=HOUR_MS
            ) as consumer,
        ):
            producer.init_transactions()
            producer.begin_transaction()
            producer.send("t", b"open", partition=1).result()
            while not consumer.assignment():
                consumer.poll(timeout=0.1)
            yield Place(run, folder)
            producer.abort_transaction()


def prepare(here: Cli, broker: EmbeddedBroker, environment: dict[str, str]) -> None:
    with Admin(broker.bootstrap) as admin:
        admin.create_topics(
            [NewTopic("t", replica_assignments={0: [1, 2], 1: [1, 2]}), NewTopic("watched", 1)]
        )
    with Producer(broker.bootstrap) as producer:
        producer.send("t", b"text", key=b"k", headers=[("h", b"\xff"), ("n", None)], partition=0)
        producer.send("t", b"\xff", partition=0)
        producer.send("t", None, key=b"k", partition=0)
    with Consumer(broker.bootstrap, group_id="readers") as consumer:
        consumer.commit({("t", 0): 1})
    here("users", "set", "alice", input="secret\n")
    here("acls", "create", "--allow", "User:bob", "-o", "read", "--topic", "t")
    here("configs", "set", "topic", "t", "retention.ms=9000")
    here("share-groups", "reset-offsets", "shared", "--topic", "t", "--to-earliest", "--yes")
    here("quotas", "set", "producer_byte_rate=1024", "--user", "alice")
    here("configs", "set", "client-metrics", "mine", "interval.ms=60000")
    here("faults", "add", "delay", "Fetch", "--ms", "1", "--topic", "none", **environment)
    here("profile", "add", "prod", "-b", "kafka:9092", "-X", "sasl.password=secret", **environment)


@pytest.mark.parametrize("line", LINES)
def test_the_output_is_as_the_page_says(place: Place, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place.folder)
    printed = place.run(line).stdout
    is_empty = printed.strip() in ("[]", "{}", "")
    assert is_empty == line.startswith(EMPTY), printed


def test_what_changes_of_nodes_print_is_as_the_page_says(place: Place) -> None:
    for change in CHANGES:
        assert json.loads(place.run(f"faults nodes {change} 2").stdout)["node_id"] == 2


@pytest.mark.parametrize("command", SERVERS)
def test_what_a_server_prints_is_as_the_page_says(
    command: str, embedded_broker: EmbeddedBroker, tmp_path: Path
) -> None:
    line = [command, *SERVERS[command]]
    line += {
        "up": ["--data-dir", str(tmp_path), "--listener", "PLAINTEXT", "--listener", "SSL"],
        "ui": ["--bootstrap", embedded_broker.bootstrap],
        "registry": ["--data-dir", str(tmp_path)],
        "faults": ["--upstream", embedded_broker.bootstrap],
    }[command]
    if command == "up":
        line.append("--make-certificates")
    process = subprocess.Popen(command_line(*line, "--json"), stdout=subprocess.PIPE, text=True)
    with running(process):
        stdout = process.stdout
        assert stdout is not None
        printed = "".join([*iter(stdout.readline, "}\n"), "}\n"])
        check_json(line, printed, may_be_empty=False)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_every_command_that_takes_it_is_in_the_catalog_and_in_a_test() -> None:
    # What generate prints is always JSON.
    assert OUTPUTS.keys() - {"reassign generate"} == commands_with_json()
    of_lines = {command_of(line.split()) for line in LINES}
    of_nodes = {f"faults nodes {change}" for change in CHANGES}
    assert commands_with_json() == {*of_lines, *of_nodes, *SERVERS, *ELSEWHERE}
    for command, file in ELSEWHERE.items():
        text = (ROOT / "tests" / "cli" / file).read_text()
        assert '"--json"' in text, command
        assert command.split()[0] in text


def test_what_is_not_as_the_shape_says_is_named() -> None:
    output = OUTPUTS["quotas list"][0]
    row = {"user": "alice", "client_id": None, "ip": None, "quota": "producer_byte_rate", "value": 1.5}

    def found(*rows: dict[str, Any]) -> str | None:
        return mismatch(output, json.dumps(rows))

    assert found(row, row) is None
    assert found({**row, "value": 1}) is None
    assert found(row, {**row, "value": "1"}) == ".1.value: '1' is no float"
    assert found({**row, "value": True}) == ".0.value: True is no float"
    assert found({**row, "more": 1}) == ".0.more is not described"
    assert found({name: row[name] for name in row if name != "ip"}) == ".0.ip is not there"
    assert mismatch(output, "{}") == ": {} is no list"
    assert mismatch(output, "") is not None
    assert mismatch(JsonOutput(dict[str, int], is_lines=True), '{"a": 1}\n{"a": "b"}') == ".a: 'b' is no int"


def test_the_page_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "json_page.py", "--check"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
