"""`barnabas registry` and `barnabas up --registry`: processes, and what is left when some are killed."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cli.test_up import command, run
from tests.programs import running
from tests.waiting import wait_for

from barnabas.testing import ApacheKafka, EmbeddedBroker

QUICK = {"group.min.session.timeout.ms": "500", "group.initial.rebalance.delay.ms": "0"}
WRITERS = 6
SUBJECTS = 3


class Process:
    """A command that prints where it listens, as JSON."""

    def __init__(self, log: Path, *arguments: str) -> None:
        self.log = log
        with log.open("w") as stderr:
            self._popen = subprocess.Popen(
                command(*arguments, "--json"), stdout=subprocess.PIPE, stderr=stderr, text=True
            )
        assert self._popen.stdout is not None
        lines: list[str] = []
        for line in self._popen.stdout:
            lines.append(line)
            if line.rstrip() == "}":
                break
        assert lines, log.read_text()
        self.printed = json.loads("".join(lines))
        self.url: str = self.printed["registry"]

    def send(self, number: int) -> None:
        self._popen.send_signal(number)

    def end(self, number: int = signal.SIGTERM) -> int:
        self.send(number)
        return self._popen.wait(60)

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        if self._popen.poll() is None:
            self.send(signal.SIGCONT)
            self.send(signal.SIGKILL)
        self._popen.wait(60)
        assert self._popen.stdout is not None
        self._popen.stdout.close()


def schema(name: str) -> dict[str, str]:
    return {"schema": json.dumps({"type": "record", "name": name, "fields": []}, separators=(",", ":"))}


def test_a_broker_and_a_registry_in_one_process_keep_what_they_have(tmp_path: Path) -> None:
    arguments = (
        "up",
        "--registry",
        "--port",
        "0",
        "--registry-port",
        "0",
        "--data-dir",
        str(tmp_path / "data"),
    )
    with Process(tmp_path / "log", *arguments) as first:
        assert httpx.post(f"{first.url}/subjects/s/versions", json=schema("A")).json()["id"] == 1
        listed = run("topics", "list", "-b", first.printed["bootstrap"])
        assert "_schemas" in listed.stdout
        assert first.end() == 0
        assert first.log.read_text() == ""
    with Process(tmp_path / "log", *arguments) as second:
        assert httpx.get(f"{second.url}/subjects").json() == ["s"]
        assert httpx.post(f"{second.url}/subjects/s2/versions", json=schema("B")).json()["id"] == 2
        assert second.end(signal.SIGINT) == 0


def test_a_registry_with_a_broker_of_its_own(tmp_path: Path) -> None:
    arguments = ("registry", "--embedded", "--port", "0", "--data-dir", str(tmp_path / "data"))
    with Process(tmp_path / "log", *arguments) as registry:
        assert httpx.get(f"{registry.url}/subjects").json() == []
        assert registry.end() == 0


def test_a_registry_by_a_file_of_confluents_with_users_and_https(
    broker: Any, topic: Callable[[], str], tmp_path: Path
) -> None:
    from barnabas.testing import Certificates

    certificates = Certificates.in_folder(tmp_path)
    users = tmp_path / "users"
    made = subprocess.run(
        command("registry-user", "alice", "--role", "write"), input="secret\n", capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    users.write_text(made.stdout)
    assert "secret" not in made.stdout
    name = topic()
    file = tmp_path / "schema-registry.properties"
    file.write_text(
        "\n".join(
            [
                "listeners=https://127.0.0.1:0",
                f"kafkastore.bootstrap.servers=PLAINTEXT://{broker.bootstrap}",
                f"kafkastore.topic={name}",
                f"schema.registry.group.id={name}",
                f"ssl.certificate.location={certificates.broker}",
                "authentication.method=BASIC",
                f"authentication.users.file={users}",
            ]
        )
    )
    with Process(tmp_path / "log", "registry", str(file)) as registry:
        trusting = ssl.create_default_context(cafile=certificates.ca)
        with httpx.Client(base_url=registry.url, verify=trusting) as http:
            assert http.get("/subjects").status_code == 401
            assert http.get("/subjects", auth=("alice", "secret")).json() == []
        assert registry.end() == 0


def test_a_missing_extra_is_named(tmp_path: Path) -> None:
    (tmp_path / "uvicorn.py").write_text("raise ImportError('not installed')")
    done = subprocess.run(
        command("registry", "-b", "127.0.0.1:1", "--port", "0"),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert done.returncode == 1
    assert "pip install 'barnabas[registry-server]'" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--embedded", "-b", "127.0.0.1:1"), "--embedded runs a broker of its own"),
        (("-c", "no.such.setting=1"), "no.such.setting"),
        (("-b", "127.0.0.1:1", "-X", "no.such=1"), "no_such"),
        (("-b", "127.0.0.1:1", "--users", "/nowhere"), "/nowhere"),
        (("-b", "127.0.0.1:1", "--tls-cert", "/nowhere.pem"), "/nowhere.pem"),
    ],
)
def test_what_cannot_be_is_one_clear_line(arguments: tuple[str, ...], said: str) -> None:
    done = run("registry", *arguments)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr


def test_a_registry_that_waits_for_its_brokers_ends_when_it_is_told_to() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        arguments = ("registry", "-b", f"127.0.0.1:{silent.getsockname()[1]}", "--port", "0")
        with running(subprocess.Popen(command(*arguments))) as popen:
            connection, _ = silent.accept()
            popen.send_signal(signal.SIGTERM)
            assert popen.wait(60) == 0
            connection.close()


# Several, of which some are killed


@pytest.fixture(params=["apache", "embedded"])
def quick_broker(request: pytest.FixtureRequest) -> Iterator[ApacheKafka | EmbeddedBroker]:
    """Whose groups notice within a second that a member is gone."""
    with {"apache": ApacheKafka, "embedded": EmbeddedBroker}[request.param](config=QUICK) as broker:
        yield broker


@pytest.fixture
def start(quick_broker: Any, tmp_path: Path) -> Iterator[Callable[[], Process]]:
    with ExitStack() as ends:

        def start_one() -> Process:
            settings = {
                "kafkagroup.session.timeout.ms": "1000",
                "kafkagroup.heartbeat.interval.ms": "200",
                "kafkastore.topic.replication.factor": "1",
                "kafkastore.timeout.ms": "5000",
            }
            given = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
            log = tmp_path / f"registry-{random.randrange(1 << 30)}.log"
            process = Process(log, "registry", "-b", quick_broker.bootstrap, "--port", "0", *given)
            return ends.enter_context(process)

        yield start_one


class Load:
    """Threads that register schemas, each of its own, with whichever registry they come upon."""

    def __init__(self, registries: list[Process]) -> None:
        self.registries = registries
        self.acknowledged: list[tuple[str, str, int]] = []
        """Subject, name of the schema, id."""
        self.refused = 0
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(n,)) for n in range(WRITERS)]

    def _write(self, number: int) -> None:
        count = 0
        with httpx.Client(timeout=3) as http:
            while not self._is_over.is_set():
                count += 1
                name, subject = f"R{number}_{count}", f"subject-{count % SUBJECTS}"
                url = random.choice(self.registries).url
                try:
                    answer = http.post(f"{url}/subjects/{subject}/versions", json=schema(name))
                except httpx.TransportError:
                    self.refused += 1
                    continue
                if answer.status_code == 200:
                    self.acknowledged.append((subject, name, answer.json()["id"]))
                else:
                    assert answer.status_code == 500, answer.text
                    self.refused += 1

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def goes_on(self, by: int = 20) -> None:
        wanted = len(self.acknowledged) + by
        wait_for(lambda: len(self.acknowledged) >= wanted)


def check(load: Load, registry: Process) -> None:
    """All that was acknowledged is there, ids are one schema's each, and versions have no gap."""
    with httpx.Client(base_url=registry.url, timeout=30) as http:
        # What others acknowledged is certainly here once a write by way of this registry is done: it then has
        # read the journal to its end. The setting is as it was.
        wait_for(lambda: http.put("/config", json={"compatibility": "NONE"}).is_success)
        found: dict[tuple[str, str], int] = {}
        for subject in http.get("/subjects").json():
            versions = http.get(f"/subjects/{subject}/versions").json()
            assert versions == list(range(1, len(versions) + 1))
            for version in versions:
                stored = http.get(f"/subjects/{subject}/versions/{version}").json()
                key = (subject, json.loads(stored["schema"])["name"])
                assert key not in found
                found[key] = stored["id"]
        assert len(set(found.values())) == len(found)
        for subject, name, schema_id in load.acknowledged:
            assert found[subject, name] == schema_id


def leader_of(registries: list[Process]) -> Process:
    """The one that says that it writes, of those that do not pass on."""
    for registry in registries:
        answer = httpx.post(
            f"{registry.url}/subjects/probe/versions", json=schema("Probe"), headers={"X-Forward": "true"}
        )
        if answer.status_code == 200:
            return registry
    raise AssertionError("nobody leads")


def test_killed_leaders_lose_nothing_that_was_acknowledged(start: Callable[[], Process]) -> None:
    registries = [start() for _ in range(3)]
    httpx.put(f"{registries[0].url}/config", json={"compatibility": "NONE"}).raise_for_status()
    with Load(registries) as load:
        for _ in range(2):
            load.goes_on()
            leader = leader_of(registries)
            leader.end(signal.SIGKILL)
            registries.remove(leader)
            load.goes_on()
    check(load, registries[0])
    check(load, start())


def test_a_leader_that_was_stopped_and_goes_on_writes_nothing_behind_its_successor(
    start: Callable[[], Process],
) -> None:
    registries = [start() for _ in range(2)]
    httpx.put(f"{registries[0].url}/config", json={"compatibility": "NONE"}).raise_for_status()
    with Load(list(registries)) as load:
        load.goes_on()
        leader = leader_of(registries)
        leader.send(signal.SIGSTOP)
        try:
            load.registries = [each for each in registries if each is not leader]
            load.goes_on()
        finally:
            leader.send(signal.SIGCONT)
        load.registries = registries
        load.goes_on()
    for registry in registries:
        check(load, registry)


def test_a_leader_that_ends_in_good_order_is_followed_at_once(start: Callable[[], Process]) -> None:
    registries = [start() for _ in range(2)]
    httpx.put(f"{registries[0].url}/config", json={"compatibility": "NONE"}).raise_for_status()
    with Load(registries) as load:
        load.goes_on()
        leader = leader_of(registries)
        assert leader.end() == 0
        registries[:] = [each for each in registries if each is not leader]
        load.goes_on()
    check(load, registries[0])


# Associations, by way of registries that do not write


def association(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "resourceName": f"topic-{number}",
        "resourceNamespace": "cluster",
        "resourceId": f"id-{number}",
        "resourceType": "topic",
        "associations": [{"associationType": "value", "lifecycle": "STRONG", "schema": schema(f"R{number}")}],
        **changes,
    }


def subjects_of(registry: Process, number: int) -> list[str]:
    found = httpx.get(f"{registry.url}/associations/resources/id-{number}").raise_for_status().json()
    return [each["subject"] for each in found]


def test_associations_by_a_follower_are_there_for_all_and_outlive_a_killed_leader(
    start: Callable[[], Process],
) -> None:
    registries = [start() for _ in range(3)]
    leader = leader_of(registries)
    follower, other = (each for each in registries if each is not leader)
    made = httpx.post(f"{follower.url}/associations", json=association(1))
    assert made.status_code == 200, made.text
    # Who wrote there reads there what it wrote, the schema too.
    assert subjects_of(follower, 1) == [":.cluster:topic-1-value"]
    versions = httpx.get(f"{follower.url}/subjects/:.cluster:topic-1-value/versions")
    assert versions.json() == [1]
    # Refused by the leader, in its words.
    refused = [
        httpx.post(f"{each.url}/associations", json=association(1, resourceName="topic/1"))
        for each in (leader, follower)
    ]
    assert [each.status_code for each in refused] == [422, 422]
    assert refused[0].json() == refused[1].json()
    batch = {
        "requests": [
            association(number, associations=[{"opType": "UPSERT", **association(number)["associations"][0]}])
            for number in (2, 3)
        ]
    }
    done = httpx.post(f"{other.url}/associations:batchMutate", json=batch)
    assert (done.status_code, [list(each) for each in done.json()["results"]]) == (207, [["result"]] * 2)

    acknowledged: list[int] = []
    leader.end(signal.SIGKILL)
    registries.remove(leader)
    number = 10

    def goes_on() -> bool:
        nonlocal number
        number += 1
        answer = httpx.post(f"{random.choice(registries).url}/associations", json=association(number))
        if answer.status_code == 200:
            acknowledged.append(number)
        else:
            assert answer.status_code == 500, answer.text
        return len(acknowledged) >= 10

    wait_for(goes_on)
    for registry in (*registries, start()):
        for each in (1, 2, 3, *acknowledged):
            wait_for(
                lambda registry=registry, each=each: (
                    subjects_of(registry, each) == [f":.cluster:topic-{each}-value"]
                )
            )
    gone = httpx.delete(
        f"{registries[0].url}/associations/resources/id-1", params={"cascadeLifecycle": "true"}
    )
    assert gone.status_code == 204
    for registry in registries:
        wait_for(lambda registry=registry: subjects_of(registry, 1) == [])
        found = httpx.get(f"{registry.url}/subjects/:.cluster:topic-1-value/versions")
        assert found.json()["error_code"] == 40401
