"""`barnabas faults`: faults of an embedded broker or a proxy, and the proxy itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from barnabas.broker.faults.rules import EFFECTS, FaultRule, Stage, api_name
from barnabas.broker_errors import ErrorCode
from barnabas.cli import completion
from barnabas.cli.options import AsJson, UsageError
from barnabas.cli.output import print_json, print_table
from barnabas.cli.running.foreground import run_proxy
from barnabas.protocol.api_key import ApiKey

if TYPE_CHECKING:
    from barnabas.testing.fault_control import FaultControl, RecordedRequest

DEFAULT_FAULTS_PORT = 9644
_EFFECTS = [each for each in EFFECTS if each != "hook"]
_APIS = [api_name(key) for key in ApiKey]

app = typer.Typer(
    help="Make a broker fail for tests, by errors, delays and broken connections: `barnabas up --faults-port "
    "9644`, or before any Kafka, `barnabas faults --upstream HOST:PORT`."
)

At = Annotated[
    str,
    typer.Option(
        "--at",
        envvar="BARNABAS_FAULTS",
        metavar="URL",
        help="The URL at which the broker or the proxy takes faults.",
    ),
]
DEFAULT_AT = f"http://127.0.0.1:{DEFAULT_FAULTS_PORT}"
FaultId = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="The id of a fault, as `add` prints it.", autocompletion=completion.fault_ids
    ),
]
Node = Annotated[
    int | None,
    typer.Option(
        "--node", help="Only requests to the node of this id.", autocompletion=completion.fault_nodes
    ),
]
Topic = Annotated[
    str | None,
    typer.Option(
        "--topic", help="Only requests that name this topic; * stands for any text, and ? for any letter."
    ),
]
Partition = Annotated[
    int | None, typer.Option("--partition", help="Only requests that name this partition of the topic.")
]
ClientId = Annotated[
    str | None, typer.Option("--client-id", help="Only requests of clients with this client.id.")
]
Group = Annotated[str | None, typer.Option("--group", help="Only requests that name this group.")]


@app.callback(invoke_without_command=True)
def proxy(
    context: typer.Context,
    upstream: Annotated[
        str | None,
        typer.Option("--upstream", metavar="HOST:PORT", help="Run a proxy before the cluster of this node."),
    ] = None,
    port: Annotated[
        int,
        typer.Option(
            "--port",
            "-p",
            min=0,
            max=65_535,
            help="With --upstream: the port for clients; 0 takes any free one.",
        ),
    ] = 0,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    faults_port: Annotated[
        int,
        typer.Option(
            "--faults-port",
            min=0,
            max=65_535,
            help="With --upstream: the port on which the proxy takes faults; 0 takes any free one.",
        ),
    ] = DEFAULT_FAULTS_PORT,
    as_json: AsJson = False,
) -> None:
    """With --upstream: a proxy until Ctrl-C, which prints its address for clients and that for faults."""
    if context.invoked_subcommand is not None:
        if upstream is not None:
            raise UsageError("--upstream runs a proxy, and takes no command beside it")
        return
    if upstream is None:
        print(context.get_help())
        raise typer.Exit(2)
    run_proxy(upstream, host, port, faults_port, as_json=as_json)


def _control(at: str) -> FaultControl:
    # Here and not above, since no other command should wait for the import.
    from barnabas.testing.fault_control import FaultControl

    return FaultControl(at)


@app.command()
def add(
    effect: Annotated[
        str,
        typer.Argument(help=f"One of {', '.join(_EFFECTS)}.", autocompletion=completion.one_of(_EFFECTS)),
    ],
    apis: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[API]...",
            help="The requests that it is for: Produce, Fetch, ...; all if left out.",
            autocompletion=completion.one_of(_APIS),
        ),
    ] = None,
    error: Annotated[
        str | None,
        typer.Option(
            "--error",
            help="With the effect error: which one, by Kafka's name or number.",
            autocompletion=completion.one_of([each.name for each in ErrorCode]),
        ),
    ] = None,
    message: Annotated[
        str | None, typer.Option("--message", help="A text that is sent with the error.")
    ] = None,
    ms: Annotated[
        int | None, typer.Option("--ms", help="How many milliseconds a delay or a throttle time has.")
    ] = None,
    up_to_ms: Annotated[
        int | None,
        typer.Option("--up-to-ms", help="With --ms: a random delay from that to this many milliseconds."),
    ] = None,
    after_bytes: Annotated[
        int | None, typer.Option("--bytes", help="With the effect cut: after how many bytes of the answer.")
    ] = None,
    node: Node = None,
    topic: Topic = None,
    partition: Partition = None,
    client_id: ClientId = None,
    group: Group = None,
    transactional_id: Annotated[
        str | None, typer.Option("--transactional-id", help="Only requests that name this transactional id.")
    ] = None,
    times: Annotated[
        int | None,
        typer.Option(
            "--times", help="How many requests it meets before it is used up; if left out, it meets all."
        ),
    ] = None,
    after: Annotated[
        int | None, typer.Option("--after", help="How many requests pass before it meets one.")
    ] = None,
    probability: Annotated[
        float | None,
        typer.Option(
            "--probability", help="How likely it is to meet a request, from 0 to 1; certain if left out."
        ),
    ] = None,
    follows: Annotated[
        str | None,
        typer.Option(
            "--follows",
            metavar="ID",
            help="Begin when the fault of this id is used up.",
            autocompletion=completion.fault_ids,
        ),
    ] = None,
    stage: Annotated[
        str | None,
        typer.Option(
            "--stage",
            help="Meet a request before the broker has done what was asked, or after.",
            autocompletion=completion.one_of(get_args(Stage)),
        ),
    ] = None,
    at: At = DEFAULT_AT,
) -> None:
    """Add a fault, and print its id.

    For example: barnabas faults add error Produce --error NOT_LEADER_OR_FOLLOWER --topic orders --times 1
    """
    rule: dict[str, Any] = {
        "effect": effect.replace("-", "_"),
        "apis": apis or None,
        "error": error if error is None or not error.lstrip("-").isdecimal() else int(error),
        "message": message,
        "throttle_ms" if effect == "throttle" else "delay_ms": ms,
        "up_to_ms": up_to_ms,
        "cut_after_bytes": after_bytes,
        "node": node,
        "topic": topic,
        "partition": partition,
        "client_id": client_id,
        "group": group,
        "transactional_id": transactional_id,
        "times": times,
        "after": after,
        "probability": probability,
        "follows": follows,
        "stage": stage,
    }
    given = FaultRule.from_json({name: value for name, value in rule.items() if value is not None})
    print(_control(at).add(given).rule_id)


@app.command("list")
def list_faults(at: At = DEFAULT_AT, as_json: AsJson = False) -> None:
    """Print all faults and how many requests they have met."""
    found = _control(at).call("GET", "/faults")["faults"]
    if as_json:
        print_json(found)
        return
    rows = [(each["id"], each["hits"], each["is_used_up"], _words(each["rule"])) for each in found]
    print_table(["ID", "HITS", "USED UP", "FAULT"], rows)


def _words(rule: dict[str, Any]) -> str:
    effect = rule.pop("effect")
    apis = ", ".join(rule.pop("apis", ["all requests"]))
    return " ".join([effect, apis, *(f"{name}={value}" for name, value in rule.items())])


@app.command()
def wait(
    fault: FaultId,
    hits: Annotated[int, typer.Option("--hits", help="How many requests it must have met.")] = 1,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="How many seconds to wait at most.")
    ] = 30.0,
    at: At = DEFAULT_AT,
) -> None:
    """Wait until a fault has met a request."""
    _control(at).fault(fault).wait(hits, timeout)


@app.command()
def release(fault: FaultId, at: At = DEFAULT_AT) -> None:
    """Release the requests that a fault holds."""
    _control(at).fault(fault).release()


@app.command()
def remove(fault: FaultId, at: At = DEFAULT_AT) -> None:
    """Remove a fault."""
    _control(at).fault(fault).remove()


@app.command()
def clear(
    seed: Annotated[
        int | None, typer.Option("--seed", help="The seed of random choices from now on.")
    ] = None,
    at: At = DEFAULT_AT,
) -> None:
    """Remove all faults, and forget the requests that came."""
    _control(at).clear(seed)


@app.command()
def requests(
    api: Annotated[
        str | None,
        typer.Argument(
            help="Only requests of this kind: Produce, Fetch, ...", autocompletion=completion.one_of(_APIS)
        ),
    ] = None,
    node: Node = None,
    topic: Topic = None,
    partition: Partition = None,
    client_id: ClientId = None,
    group: Group = None,
    at: At = DEFAULT_AT,
    as_json: AsJson = False,
) -> None:
    """Print the requests since the first fault was set."""
    which = {"node": node, "topic": topic, "partition": partition, "client_id": client_id, "group": group}
    told = {name: value for name, value in which.items() if value is not None}
    found = _control(at).requests(api, **told)
    if as_json:
        print_json([each.as_json() for each in found])
        return
    rows = [
        (
            each.number,
            each.api,
            each.version,
            each.node,
            each.client_id,
            each.client,
            _partitions(each),
        )
        for each in found
    ]
    print_table(["NUMBER", "API", "VERSION", "NODE", "CLIENT ID", "CLIENT", "PARTITIONS"], rows)


def _partitions(request: RecordedRequest) -> str:
    return " ".join(
        f"{topic}-{index}" if index is not None else topic
        for topic, indexes in request.partitions.items()
        for index in indexes or (None,)
    )


@app.command("disk-full")
def disk_full(
    ends: Annotated[bool, typer.Option("--off", help="Give it room again.")] = False, at: At = DEFAULT_AT
) -> None:
    """Make the broker's disk seem full."""
    _control(at).disk_full(not ends)


@app.command("move-clock")
def move_clock(
    ms: Annotated[int, typer.Argument(help="How many milliseconds; back with a negative number.")],
    at: At = DEFAULT_AT,
) -> None:
    """Move the broker's clock."""
    _control(at).move_clock(ms)


@app.command("pass-time")
def pass_time(
    ms: Annotated[int, typer.Argument(min=0, help="How many milliseconds.")], at: At = DEFAULT_AT
) -> None:
    """Let time pass for the broker without waiting: sessions, time-outs and upkeep that are due end."""
    _control(at).pass_time(ms)


@app.command()
def rebalance(group: Annotated[str, typer.Argument(help="The group.")], at: At = DEFAULT_AT) -> None:
    """Make a group rebalance."""
    _control(at).rebalance(group)


nodes = typer.Typer(help="Show the nodes of an embedded cluster, and stop, freeze or cut off one of them.")
app.add_typer(nodes, name="nodes")

NodeId = Annotated[
    int, typer.Argument(metavar="NODE", help="The node's id.", autocompletion=completion.fault_nodes)
]


@nodes.command("list")
def list_nodes(at: At = DEFAULT_AT, as_json: AsJson = False) -> None:
    """Print all nodes and what was done to them."""
    found = _control(at).call("GET", "/nodes")["nodes"]
    if as_json:
        print_json(found)
        return
    print_table(["NODE", "STATE"], [(each["node_id"], _state(each)) for each in found])


def _state(node: dict[str, Any]) -> str:
    words = ("paused", "parted", "lagging")
    upset = [word for word in words if node[f"is_{word}"]]
    return ", ".join(upset) or ("running" if node["is_running"] else "stopped")


# By command: the state that a node is put into, and what that means.
_CHANGES = {
    "stop": ("stopped", "Stop a node in order: others lead its partitions first. Its data stays."),
    "kill": (
        "killed",
        "Kill a node, as SIGKILL does: the others notice it after broker.session.timeout.ms.",
    ),
    "start": ("started", "Start a node that was stopped or killed, with the data that it had."),
    "pause": (
        "paused",
        "Freeze a node with its connections open: the others go on without it after "
        "broker.session.timeout.ms.",
    ),
    "resume": ("resumed", "Let a paused node go on, with the requests that have come in."),
    "part": ("parted", "Cut a node off from the other nodes, and not from clients."),
    "join": (
        "joined",
        "Let a node that was cut off join the others again: it drops records that their leaders do not have.",
    ),
    "lag": (
        "lagging",
        "Stop a node from following its leaders: it is out of sync after replica.lag.time.max.ms.",
    ),
    "catch-up": ("catching_up", "Let a node that lags follow again: it is in sync once it has all records."),
}


def _changes_to(state: str) -> Callable[..., None]:
    def change(node: NodeId, at: At = DEFAULT_AT, as_json: AsJson = False) -> None:
        control = _control(at)
        control.call("PUT", f"/nodes/{node}", {"state": state})
        if as_json:
            print_json(control.call("GET", f"/nodes/{node}"))

    return change


for _name, (_state_after, _help) in _CHANGES.items():
    nodes.command(_name, help=_help)(_changes_to(_state_after))
