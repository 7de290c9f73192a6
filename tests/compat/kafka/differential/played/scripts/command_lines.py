"""`python -m kafka.admin` and its kin, by the functions behind them."""

import contextlib
import io

from tests.compat.kafka.differential.played.script import on_kafka, script


def _run(stage, label, *arguments, part="admin"):
    """Records the exit status and what was printed."""
    run_cli = stage.module(f"cli.{part}").run_cli
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        try:
            status = run_cli(list(arguments))
        except SystemExit as end:
            status = ("exit", end.code)
        except Exception as failure:
            status = failure
    stage.record(label, status)
    stage.record(f"{label}, printed", out.getvalue().splitlines())
    stage.record(f"{label}, complained", error.getvalue().splitlines()[-1:])


@script("3")
def the_command_line_says_what_parts_it_has(kafka, stage):
    run_cli = stage.module("cli").run_cli
    for arguments in ([], ["-h"], ["odd"]):
        out, error = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            status = run_cli(arguments)
        stage.record(repr(arguments), (status, out.getvalue(), error.getvalue()))


@script("3")
def the_command_line_shows_help_for_each_group_of_commands(kafka, stage):
    _run(stage, "nothing")
    _run(stage, "all", "-h")
    for group in ("acls", "cluster", "configs", "topics", "partitions", "groups", "transactions", "users"):
        _run(stage, group, group)
    for command in (
        *("acls create", "acls describe", "cluster alter-log-dirs", "cluster update-features"),
        *(
            "configs alter",
            "configs describe",
            "groups list",
            "groups reset-offsets",
            "groups remove-members",
        ),
        *("partitions list-offsets", "partitions elect-leaders", "transactions list", "transactions abort"),
        *("users alter-scram-credentials", "topics describe"),
    ):
        _run(stage, command, *command.split(), "-h")
    _run(stage, "no broker", "topics", "list")
    _run(stage, "unknown format", "--format", "odd", "topics", "list")
    _run(stage, "unknown group", "odd")


@script("2")
def the_command_line_of_2_shows_its_own_help(kafka, stage):
    _run(stage, "all", "-h")
    _run(stage, "no broker", "topics", "list")
    for group in ("cluster", "configs", "log-dirs", "topics", "consumer-groups"):
        _run(stage, group, "-b", "nowhere", group, "-h")
    for command in ("configs describe", "topics create", "topics delete", "consumer-groups describe"):
        _run(stage, command, "-b", "nowhere", *command.split(), "-h")


@on_kafka("3")
def the_command_line_administers_topics(kafka, stage):
    topic = stage.name("made")
    where = ("-b", stage.bootstrap)
    _run(stage, "listed nothing", *where, "topics", "describe", "-t", topic)
    stage.within("made", stage.module("cli.admin").run_cli, [*where, "topics", "create", "-t", topic])
    stage.until(lambda: topic in stage.admin().list_topics())
    _run(stage, "made again", *where, "topics", "create", "-t", topic)
    _run(stage, "more", *where, "partitions", "create", "-p", f"{topic}:3")
    stage.until(lambda: len(stage.admin().describe_topics([topic])[0]["partitions"]) == 3)
    _run(stage, "more as JSON", *where, "--format", "json", "partitions", "create", "-p", f"{topic}:5")
    stage.until(lambda: len(stage.admin().describe_topics([topic])[0]["partitions"]) == 5)
    _run(stage, "offsets", *where, "partitions", "list-offsets", "-p", f"{topic}:2-2:latest")
    one = stage.topic()
    every = ("partitions", "list-offsets", "-t", one, "-s", "earliest")
    _run(stage, "all offsets", *where, "--format", "json", *every)
    _run(stage, "odd offsets", *where, "partitions", "list-offsets", "-p", f"{topic}:x:latest")
    _run(stage, "no records", *where, "partitions", "delete-records", "-r", f"{topic}:0:7")
    _run(stage, "config", *where, "configs", "alter", "-r", "topic", "-n", topic, "-c", "retention.ms=5000")
    _run(stage, "wrong", *where, "configs", "alter", "-r", "topic", "-n", topic, "-c", "retention.ms")
    _run(stage, "what is wrong", *where, "configs", "describe", "-r", "odd", "-n", topic)
    _run(stage, "moved", *where, "partitions", "alter-reassignments", "-r", f"{topic}:0=1")
    _run(stage, "no moves", *where, "partitions", "list-reassignments")
    _run(stage, "nothing deleted", *where, "topics", "delete")


@on_kafka("3")
def the_command_line_administers_groups(kafka, stage):
    topic, group = stage.filled_topic(b"a", b"b"), stage.group()
    where = ("-b", stage.bootstrap)
    _run(stage, "set", *where, "groups", "alter-offsets", "-g", group, "-o", f"{topic}:0:1")
    _run(stage, "described", *where, "groups", "describe", "-g", group)
    _run(stage, "offsets", *where, "groups", "list-offsets", "-g", group)
    _run(stage, "reset", *where, "groups", "reset-offsets", "-g", group, "-p", f"{topic}:0", "-s", "latest")
    _run(
        stage, "to 0", *where, "groups", "reset-offsets", "-g", group, "-p", f"{topic}:0", "--to-offset", "0"
    )
    _run(stage, "odd", *where, "groups", "reset-offsets", "-g", group, "--by-duration", "soon")
    _run(stage, "no member", *where, "groups", "remove-members", "-g", group)
    _run(stage, "forgotten", *where, "groups", "delete-offsets", "-g", group, "-p", f"{topic}:0")
    _run(stage, "deleted", *where, "groups", "delete", "-g", group)


@on_kafka("2")
def the_command_line_of_2_administers_topics_and_groups(kafka, stage):
    topic, group = stage.name("made"), stage.group()
    where = ("-b", stage.bootstrap)
    create = ("topics", "create", "-t", topic, "--num-partitions", "1", "--replication-factor", "1")
    _run(stage, "made", *where, *create)
    stage.until(lambda: topic in stage.admin().list_topics())
    _run(stage, "described", *where, "-f", "json", "topics", "describe", "-t", topic)
    _run(stage, "made again", *where, *create)
    _run(stage, "config", *where, "configs", "describe", "-t", topic)
    stage.ask("commit", group, topic, 0, 0)
    _run(stage, "group", *where, "consumer-groups", "describe", "-g", group)
    _run(stage, "offsets", *where, "consumer-groups", "list-offsets", "-g", group)
    _run(stage, "no group any more", *where, "consumer-groups", "delete", "-g", group)
    _run(stage, "no topic any more", *where, "topics", "delete", "-t", topic)
