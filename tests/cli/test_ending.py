"""How commands end that a signal ends."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest
from tests.cli.conftest import Cli, command_line

from barnabas import Admin, TopicPartition
from barnabas.cli.ending import as_by_ctrl_c, noted
from barnabas.testing import ApacheKafka, EmbeddedBroker

Broker = ApacheKafka | EmbeddedBroker
Created = Callable[..., str]
Eventually = Callable[..., object]


@contextmanager
def started(broker: Broker, *arguments: str, is_buffered: bool = True) -> Generator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    environment = {**os.environ, "PYTHONUNBUFFERED": "" if is_buffered else "1"}
    command = command_line(*arguments, "-b", broker.bootstrap)
    # Also where the tests run by nohup, which children inherit.
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, text=True)
    finally:
        signal.signal(signal.SIGHUP, before)
    with process:
        try:
            yield process
        finally:
            process.kill()


def committed(broker: Broker, group: str) -> int:
    with Admin(broker.bootstrap) as admin:
        (offset,) = admin.list_group_offsets(group).values()
    assert offset is not None
    return offset.offset


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_consume_that_a_signal_ends_has_committed_what_it_printed_and_left_its_group(
    broker: Broker, cli: Cli, created: Created, number: int
) -> None:
    name = created()
    cli("produce", name, input="line\n" * 100)
    with started(broker, "consume", name, "-g", name, "--from-beginning") as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(100)] == ["line\n"] * 100
        process.send_signal(number)
        out, errors = process.communicate(timeout=60)
        assert (out, errors, process.returncode) == ("", "", 0)
    assert committed(broker, name) == 100
    with Admin(broker.bootstrap) as admin:
        assert admin.describe_groups([name])[name].state == "Empty"


@pytest.mark.parametrize("is_buffered", [True, False])
def test_what_is_being_printed_when_a_signal_comes_is_printed_to_its_end_and_committed(
    broker: Broker, cli: Cli, created: Created, is_buffered: bool
) -> None:
    name = created()
    # Several polls, each of more than a pipe holds.
    cli("produce", name, input=f"{'x' * 30}\n" * 30_000)
    arguments = "consume", name, "-g", name, "--from-beginning"
    with started(broker, *arguments, is_buffered=is_buffered) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"{'x' * 30}\n"
        process.send_signal(signal.SIGTERM)
        # Not communicate(), which leaves out what readline() has taken from the pipe already.
        out = process.stdout.read()
        _, errors = process.communicate(timeout=60)
        assert (errors, process.returncode) == ("", 0)
    assert set(out.splitlines()) == {"x" * 30}
    assert committed(broker, name) == out.count("\n") + 1 < 30_000


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_produce_says_how_many_it_sent_before_a_signal(
    broker: Broker, created: Created, number: int, eventually: Eventually
) -> None:
    name = created()
    place = TopicPartition(name, 0)
    with started(broker, "produce", name) as process, Admin(broker.bootstrap) as admin:
        assert process.stdin is not None
        process.stdin.write("line\n" * 100)
        process.stdin.flush()
        eventually(lambda: admin.list_offsets({place: "latest"})[place].offset == 100)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 128 + number
    assert f"100 records sent to {name} before this" in errors


def test_copy_that_follows_ends_in_good_order_by_a_signal(
    broker: Broker, cli: Cli, created: Created, eventually: Eventually
) -> None:
    source, target = created(), created()
    cli("produce", source, input="line\n" * 3)
    place = TopicPartition(target, 0)
    with (
        started(broker, "copy", source, "--to", target, "--follow") as process,
        Admin(broker.bootstrap) as admin,
    ):
        eventually(lambda: admin.list_offsets({place: "latest"})[place].offset == 3)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "3 records copied" in errors


@pytest.fixture
def ignores_hangups() -> Generator[None]:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGHUP, before)


def test_who_ignores_a_closed_terminal_goes_on_doing_so(ignores_hangups: None) -> None:
    with as_by_ctrl_c(), noted() as asked:
        os.kill(os.getpid(), signal.SIGHUP)
        assert asked.signal is None
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


def test_a_second_signal_breaks_off_what_the_first_one_did_not() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with as_by_ctrl_c() as asked:
        with pytest.raises(KeyboardInterrupt), noted() as first:  # noqa: PT012
            os.kill(os.getpid(), signal.SIGTERM)
            assert first.signal == signal.SIGTERM
            os.kill(os.getpid(), signal.SIGTERM)
        assert asked.signal == signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before


def test_other_threads_have_no_handlers() -> None:
    found: list[object] = []

    def run() -> None:
        with as_by_ctrl_c(), noted():
            found.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGTERM)]
