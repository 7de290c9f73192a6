from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.programs import running

from barnabas import Admin, TopicPartition
from barnabas.testing import ApacheKafka, EmbeddedBroker

Cli = Callable[..., subprocess.CompletedProcess[str]]
Created = Callable[..., str]


@pytest.mark.integration
def test_lines_come_back_as_they_were_sent(cli: Cli, created: Created) -> None:
    name = created()
    sent = cli("produce", name, input="one\ntwo  \n\nvier: ä\n")
    assert "4 records sent" in sent.stderr
    assert sent.stdout == ""
    assert cli("consume", name, "--from-beginning", "--until-end").stdout == "one\ntwo  \n\nvier: ä\n"


def test_keys_and_headers_are_sent_and_shown(cli: Cli, created: Created) -> None:
    name = created()
    cli("produce", name, "--key-separator", ":", "--header", "source=test", input="a:1\nb:2:3\n")
    shown = cli("consume", name, "--from-beginning", "--until-end", "--key", "--headers").stdout
    assert shown == "source=test\ta\t1\nsource=test\tb\t2:3\n"


def test_json_has_every_field_of_a_record(cli: Cli, created: Created) -> None:
    name = created()
    cli("produce", name, "--key", "k", "-H", "h=1", input="v\n")
    record = json.loads(cli("consume", name, "--from-beginning", "--max", "1", "--json").stdout)
    assert record.pop("timestamp") > 1_600_000_000_000
    assert record == {
        "topic": name,
        "partition": 0,
        "offset": 0,
        "key": "k",
        "value": "v",
        "headers": [["h", "1"]],
    }


def test_bytes_that_are_not_text_stand_as_base64_in_json(cli: Cli, created: Created, tmp_path: Path) -> None:
    name = created()
    (tmp_path / "lines").write_bytes(b"\xff\xfe\n")
    cli("produce", name, "--file", str(tmp_path / "lines"))
    record = json.loads(cli("consume", name, "--from-beginning", "--max", "1", "--json").stdout)
    assert record["value"] == {"base64": "//4="}


def test_a_template_formats_records(cli: Cli, created: Created) -> None:
    name = created()
    cli("produce", name, "-k", "k", input="a\nb\n")
    shown = cli(
        "consume", name, "-o", "0", "-e", "--format", r"{{{partition}/{offset}}}\t{key}={value}\n"
    ).stdout
    assert shown == "{0/0}\tk=a\n{0/1}\tk=b\n"


def test_an_offset_may_count_back_from_the_end(cli: Cli, created: Created) -> None:
    name = created()
    cli("produce", name, input="a\nb\nc\n")
    assert cli("consume", name, "--offset=-2", "--until-end").stdout == "b\nc\n"
    assert cli("consume", name, "--offset", "1", "--until-end").stdout == "b\nc\n"


def test_one_partition_can_be_written_and_read_alone(cli: Cli, created: Created) -> None:
    name = created(partitions=3)
    for partition in range(3):
        cli("produce", name, "--partition", str(partition), input=f"p{partition}\n")
    assert cli("consume", name, "--from-beginning", "-e", "--partition", "1").stdout == "p1\n"
    everything = cli("consume", name, "--from-beginning", "-e").stdout
    assert sorted(everything.split()) == ["p0", "p1", "p2"]


def test_a_tombstone_has_no_value(cli: Cli, created: Created) -> None:
    name = created()
    cli("produce", name, "-K", "=", "--tombstones", input="a=1\na=\n")
    lines = cli("consume", name, "--from-beginning", "-e", "--json").stdout.splitlines()
    assert [json.loads(line)["value"] for line in lines] == ["1", None]


def test_a_group_continues_where_it_stopped(cli: Cli, created: Created) -> None:
    name = created()
    cli("produce", name, input="a\nb\nc\n")
    first = cli("consume", name, "--group", name, "--from-beginning", "--max", "2").stdout
    rest = cli("consume", name, "--group", name, "--from-beginning", "--max", "1").stdout
    assert (first, rest) == ("a\nb\n", "c\n")


def test_consume_ends_when_nothing_comes_for_the_timeout(cli: Cli, created: Created) -> None:
    assert cli("consume", created(), "--from-beginning", "--timeout", "0.5").stdout == ""


def test_settings_pass_through_to_the_clients(cli: Cli, created: Created) -> None:
    name = created()
    cli("produce", name, "-X", "compression.type=zstd", "-X", "linger.ms=0", input="a\n")
    assert (
        cli(
            "consume", name, "-X", "auto.offset.reset=earliest", "-X", "fetch.max.wait.ms=10", "-o", "0", "-e"
        ).stdout
        == "a\n"
    )


def test_an_unknown_setting_is_one_line_that_names_the_nearest(cli: Cli, topic: Callable[[], str]) -> None:
    done = cli("produce", topic(), "-X", "linger.msec=0", input="a\n", ok=False)
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["error: unknown setting 'linger_msec'; did you mean 'linger_ms'?"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["-X", "linger"], "-X 'linger' is not name=value"),
        (["--key", "a", "--key-separator", ":"], "exclude each other"),
        (["--key-separator", ":"], "line 1 has no key separator ':'"),
    ],
)
def test_a_command_that_cannot_be_meant_is_refused(
    cli: Cli, created: Created, arguments: list[str], complaint: str
) -> None:
    done = cli("produce", created(), *arguments, input="line\n", ok=False)
    assert done.returncode == 1
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_partition_that_is_not_there_is_named(cli: Cli, created: Created) -> None:
    name = created()
    done = cli("consume", name, "-p", "7", "-e", ok=False)
    assert done.stderr == f"error: topic {name!r} has no partition 7, only 0 to 0\n"


def test_debug_shows_where_an_error_came_from(cli: Cli, created: Created) -> None:
    done = cli("--debug", "consume", created(), "-p", "7", ok=False)
    assert "Traceback" in done.stderr


def test_ctrl_c_ends_consume_with_what_it_has(
    broker: ApacheKafka | EmbeddedBroker, cli: Cli, created: Created
) -> None:
    name = created()
    cli("produce", name, input="a\n")
    arguments = ["consume", name, "--from-beginning", "--bootstrap", broker.bootstrap]
    process = subprocess.Popen(
        [sys.executable, "-m", "barnabas.cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with running(process):
        assert process.stdout is not None
        assert process.stdout.readline() == "a\n"
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
    assert (rest, errors, process.returncode) == ("", "", 0)


def test_a_reader_that_goes_away_ends_consume(
    broker: ApacheKafka | EmbeddedBroker, cli: Cli, created: Created
) -> None:
    name = created()
    cli("produce", name, input="line\n" * 1000)
    read_end, write_end = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "barnabas.cli", "consume", name, "--from-beginning", "-b", broker.bootstrap],
        stdout=write_end,
        stderr=subprocess.PIPE,
        text=True,
    )
    with running(process):
        os.close(write_end)
        os.close(read_end)
        _, errors = process.communicate(timeout=60)
    assert (errors, process.returncode) == ("", 0)


def test_a_group_does_not_pass_over_what_a_reader_that_went_away_was_not_given(
    broker: ApacheKafka | EmbeddedBroker, cli: Cli, created: Created
) -> None:
    name = created()
    cli("produce", name, input="line\n" * 100)
    reading = ["consume", name, "--group", f"group-{name}", "-X", "auto.offset.reset=earliest"]
    read_end, write_end = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "barnabas.cli", *reading, "-b", broker.bootstrap],
        stdout=write_end,
        stderr=subprocess.PIPE,
        text=True,
    )
    with running(process):
        os.close(write_end)
        os.close(read_end)
        _, errors = process.communicate(timeout=60)
    assert (errors, process.returncode) == ("", 0)
    assert cli(*reading, "--max", "100", "--timeout", "30").stdout == "line\n" * 100


def address(server: socket.socket) -> str:
    host, port = server.getsockname()
    return f"{host}:{port}"


@pytest.mark.parametrize("of_group", [[], ["--group", "g"]])
def test_consume_that_never_reached_a_broker_fails_on_ctrl_c(of_group: list[str]) -> None:
    # Connects, and never answers.
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        subprocess.Popen(
            [sys.executable, "-m", "barnabas.cli", "consume", "topic", *of_group, "-b", address(silent)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        connection, _ = silent.accept()
        with connection:
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=60)
    assert out == ""
    assert "error: none of 127.0.0.1:" in errors
    assert " had answered before this ended: nothing was read\n" in errors
    assert process.returncode == 1


def test_produce_says_how_many_it_sent_before_ctrl_c(
    broker: ApacheKafka | EmbeddedBroker, created: Created
) -> None:
    name = created()
    process = subprocess.Popen(
        [sys.executable, "-m", "barnabas.cli", "produce", name, "-b", broker.bootstrap],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with running(process):
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write("line\n" * 100)
        process.stdin.flush()
        partition = TopicPartition(name, 0)
        with Admin(broker.bootstrap) as admin:
            while admin.list_offsets({partition: "latest"})[partition].offset < 100:
                pass
        process.send_signal(signal.SIGINT)
        errors = process.stderr.read()
        assert process.wait(60) != 0
    assert f"100 records sent to {name} before this" in errors


def test_produce_says_how_many_it_sent_before_an_error(cli: Cli, created: Created) -> None:
    name = created()
    done = cli("produce", name, "--key-separator", ":", input="a:1\nb:2\nc\n", ok=False)
    assert done.returncode != 0
    assert f"2 records sent to {name} before this" in done.stderr
    assert "line 3 has no key separator" in done.stderr
    assert cli("consume", name, "--from-beginning", "--until-end").stdout == "1\n2\n"
