"""`barnabas health`: asks for all that may be wrong, shows it, and ends with a status for monitoring."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Annotated

import typer

from barnabas.cli.admin.common import admin_client
from barnabas.cli.health.checks import CHECKS, Checked, ClusterChecks
from barnabas.cli.health.findings import HealthFinding, Severity
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError
from barnabas.cli.output import nearest, print_json, print_table

# 1 and 2 are those of every command: an error, and a command line that cannot be read.
EXIT_STATUSES = {Severity.WARNING: 3, Severity.CRITICAL: 4, Severity.UNKNOWN: 5}
NAMES_SHOWN = 5
DEFAULT_FREE_PERCENT = 10.0

CheckNames = Annotated[
    list[str] | None,
    typer.Option("--check", metavar="NAME", help=f"Only this (may be repeated): {', '.join(CHECKS)}."),
]


def health(
    check: CheckNames = None,
    skip: Annotated[
        list[str] | None, typer.Option("--skip", metavar="NAME", help="All but this (repeatable).")
    ] = None,
    max_lag: Annotated[
        int | None,
        typer.Option(
            "--max-lag",
            min=0,
            metavar="RECORDS",
            help="Warn of groups that are more records behind than this.",
        ),
    ] = None,
    min_free: Annotated[
        float,
        typer.Option(
            "--min-free",
            min=0,
            max=100,
            metavar="PERCENT",
            help="Warn of folders of logs with less of their disk free than this.",
        ),
    ] = DEFAULT_FREE_PERCENT,
    every: Annotated[
        bool, typer.Option("--all", help="Name all that have a problem, not the first five of each.")
    ] = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print what is wrong with the cluster, for people and for monitoring.

    It looks for brokers that are down, partitions without a leader or with too few replicas in sync, leaders
    out of place, log folders that are full or broken, controllers that do not follow, brokers of different
    versions, hanging transactions, and groups with lag that have no members.

    The exit status is 0 if nothing is wrong, 3 with warnings, 5 if something could not be found out, and 4 if
    something is critical.
    """
    chosen = [name for name in CHECKS if name in _known(check or CHECKS, "--check")]
    left_out = _known(skip or (), "--skip")
    with admin_client(bootstrap, command_config, setting) as admin:
        checks = ClusterChecks(admin, most_lag=max_lag, least_free_percent=min_free)
        # That there is a cluster at all is an error of its own.
        admin.describe_cluster()
        checked = [checks.run(name) for name in chosen if name not in left_out]
    highest = max((each.status for each in checked), default=Severity.OK)
    if as_json:
        print_json({"status": highest.word, "checks": [_as_json(each) for each in checked]})
    else:
        rows = [row for each in checked for row in _rows(each, None if every else NAMES_SHOWN)]
        print_table(["STATUS", "CHECK", "WHAT"], rows)
    if highest in EXIT_STATUSES:
        raise typer.Exit(EXIT_STATUSES[highest])


def _known(names: Iterable[str], option: str) -> set[str]:
    for name in names:
        if name not in CHECKS:
            raise UsageError(f"{option} {name!r} is none of {', '.join(CHECKS)}{nearest(name, CHECKS)}")
    return set(names)


def _rows(checked: Checked, most: int | None) -> list[tuple[str, str, str]]:
    """A line for each problem, with what has it."""
    if not checked.findings:
        return [(checked.status.word, checked.name, checked.summary)]
    alike: defaultdict[tuple[Severity, str], list[HealthFinding]] = defaultdict(list)
    for finding in checked.findings:
        alike[finding.status, finding.problem].append(finding)
    return [
        (status.word, checked.name, _told(problem, found, most))
        for (status, problem), found in sorted(alike.items(), key=lambda item: -item[0][0])
    ]


def _told(problem: str, found: Sequence[HealthFinding], most: int | None) -> str:
    if len(found) == 1:
        only = found[0]
        return f"{only.what} {problem}" + (f": {only.detail}" if only.detail else "")
    shown = found if most is None else found[:most]
    lines = [f"{each.what}" + (f": {each.detail}" if each.detail else "") for each in shown]
    more = len(found) - len(shown)
    if more:
        lines.append(f"and {more:,} more; --all names them")
    return "\n  ".join([f"{problem}: {len(found):,}", *lines])


def _as_json(checked: Checked) -> dict[str, object]:
    return {
        "check": checked.name,
        "status": checked.status.word,
        "summary": checked.summary,
        "findings": [
            {"status": each.status.word, "what": each.what, "problem": each.problem, "detail": each.detail}
            for each in checked.findings
        ],
    }
