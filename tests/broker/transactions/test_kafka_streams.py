"""Kafka Streams, out of its published jars, counts exactly once on the embedded broker, whoever is killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.waiting import Patience

from barnabas import Admin, Consumer, NewTopic, Producer, TopicPartition
from barnabas.testing import EmbeddedBroker
from barnabas.testing.distribution import DEFAULT_VERSION, KafkaDistribution, home, run_kafka_tool

PROGRAM = Path(__file__).with_name("ExactlyOnce.java")
POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>barnabas</groupId><artifactId>kafka-streams</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka-streams</artifactId><version>{}</version>
    </dependency>
  </dependencies>
</project>
"""
SOURCE, TARGET = "words", "counts"
WORDS = 4
SILENCE_SECONDS = 90
"""How long no count may come. All of them take as long as the machine needs."""


@pytest.fixture(scope="session")
def class_path() -> str:
    """Fetched by Maven when it is first needed, by one process at a time."""
    folder = home() / f"streams-{DEFAULT_VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    complete = folder / "complete"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists():
            pom = folder / "pom.xml"
            pom.write_text(POM.format(DEFAULT_VERSION))
            maven = shutil.which("mvn")
            assert maven is not None, "Maven is needed to fetch Kafka Streams"
            command = [maven, "-q", "-B", "-f", str(pom), "dependency:copy-dependencies"]
            options = ["-DincludeScope=runtime", f"-DoutputDirectory={folder / 'libs'}"]
            subprocess.run([*command, *options], check=True, timeout=250, stdout=subprocess.DEVNULL)
            complete.touch()
    return os.pathsep.join(str(jar) for jar in sorted((folder / "libs").glob("*.jar")))


class Counting:
    """The program, running. It ends in good order when its input does, and adds to the folder's log."""

    def __init__(self, class_path: str, bootstrap: str, folder: Path, protocol: str) -> None:
        kafka = KafkaDistribution()
        java = kafka.java_arguments(heap_mb=256, log_level="INFO", log_target="SYSTEM_OUT")
        # Kafka's own jars bring what writes a log; the archive of classes fits a class path that begins so.
        java[-1] += os.pathsep + class_path
        with (folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*java, str(PROGRAM), bootstrap, SOURCE, TARGET, str(folder / "state"), protocol],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        self._process.kill()
        self.end()

    def end(self) -> int:
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._process.wait(60)


def send_words(bootstrap: str, numbers: range) -> None:
    with Producer(bootstrap) as producer:
        for number in numbers:
            producer.send(SOURCE, b"word %d" % (number % WORDS), key=b"%d" % number)


def counts(bootstrap: str, wanted: int) -> dict[bytes, list[int]]:
    """What was counted of each word, in order, once so many counts are committed."""
    found: dict[bytes, list[int]] = {}
    count = 0
    options = {"isolation_level": "read_committed", "auto_offset_reset": "earliest"}
    patience = Patience(SILENCE_SECONDS)
    with Consumer(bootstrap, **options) as consumer:  # pyright: ignore[reportArgumentType]
        consumer.assign([TopicPartition(TARGET, 0)])
        while count < wanted:
            patience.check(found)
            for record in consumer.poll(0.2):
                found.setdefault(record.key or b"", []).append(int(record.value or b"0"))
                count += 1
                patience = Patience(SILENCE_SECONDS)
    return found


def assert_described(bootstrap: str, group: str) -> None:
    """Java's tool sees the group, and which tasks its member has."""
    described = run_kafka_tool(
        "org.apache.kafka.tools.streams.StreamsGroupCommand",
        *("--bootstrap-server", bootstrap, "--describe", "--members", "--group", group),
    )
    assert "ACTIVE: 0:[0,1]; 1:[0,1];" in described.stdout


@pytest.mark.parametrize("protocol", ["classic", "streams"])
@pytest.mark.parametrize("who_dies", ["the program", "the broker"])
def test_each_record_is_counted_once_whoever_is_killed(
    class_path: str, tmp_path: Path, who_dies: str, protocol: str
) -> None:
    config = {
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
        "group.streams.min.session.timeout.ms": "2000",
        "group.streams.session.timeout.ms": "6000",
    }
    with EmbeddedBroker(config=config) as broker:
        with Admin(broker.bootstrap) as admin:
            admin.create_topics([NewTopic(SOURCE, 2, 1), NewTopic(TARGET, 1, 1)])
        send_words(broker.bootstrap, range(200))
        program = Counting(class_path, broker.bootstrap, tmp_path, protocol)
        try:
            counts(broker.bootstrap, 40)
            if who_dies == "the program":
                program.kill()
                program = Counting(class_path, broker.bootstrap, tmp_path, protocol)
            elif who_dies == "the broker":
                broker.kill()
                broker.start()
            send_words(broker.bootstrap, range(200, 400))
            expected = list(range(1, 400 // WORDS + 1))
            assert counts(broker.bootstrap, 400) == {b"word %d" % word: expected for word in range(WORDS)}
            if protocol == "streams" and who_dies == "the broker":
                assert_described(broker.bootstrap, f"count-{SOURCE}")
            assert program.end() == 0
        except AssertionError:
            print((tmp_path / "log").read_text())
            raise
        finally:
            program.kill()
