"""What `copy` prints: what it has done, or would do. Copies no record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from barnabas import TopicPartition
from barnabas.cli.copying import plan, rules
from barnabas.cli.copying.copier import Copier
from barnabas.cli.copying.groups import COLUMNS, CarriedOffset
from barnabas.cli.output import note, plural, print_json, print_table
from barnabas.client.admin.types import AclBinding

if TYPE_CHECKING:
    from barnabas import Consumer
    from barnabas.cli.copying.schemas import SubjectPreview


def tell(
    planned: Sequence[plan.CopyRoute],
    copier: Copier,
    group: str | None,
    seconds: float,
    carried: Sequence[CarriedOffset] | None,
    *,
    as_json: bool,
) -> None:
    count = copier.counts.total()
    if as_json:
        topics = [
            {"source": each.source, "target": each.target, "records": copier.counts[each.source]}
            for each in planned
        ]
        document = {"records": count, "seconds": round(seconds, 3), "group": group, "topics": topics}
        print_json(document | _groups_as_json(carried))
        return
    where = (
        f"{planned[0].source} to {planned[0].target}" if len(planned) == 1 else plural(len(planned), "topic")
    )
    kept = f"; {group} keeps account of it" if group else ""
    note(f"{plural(count, 'record')} copied, {where}, in {seconds:,.1f} s{kept}")


def tell_plan(
    planned: Sequence[plan.CopyRoute],
    consumer: Consumer,
    partitions: Sequence[TopicPartition],
    of_access: Sequence[AclBinding],
    of_group_access: Sequence[AclBinding],
    of_schemas: Sequence[SubjectPreview] | None,
    of_groups: Sequence[CarriedOffset] | None,
    *,
    as_json: bool,
) -> None:
    ends = consumer.end_offsets(partitions)
    rows: list[dict[str, Any]] = []
    for route in planned:
        places = [each for each in partitions if each.topic == route.source]
        rows.append(
            {
                "source": route.source,
                "target": route.target,
                "partitions": len(places),
                "offsets": sum(max(0, ends[place] - consumer.position(place)) for place in places),
                "is_created": route.target_partition_count is None,
            }
        )
    if as_json:
        document: dict[str, Any] = {"is_dry_run": True, "topics": rows} | _groups_as_json(of_groups)
        if of_access:
            document["acls"] = rules.rows_of(of_access)
        if of_group_access:
            document["group_acls"] = rules.rows_of(of_group_access)
        if of_schemas is not None:
            document["subjects"] = [asdict(each) for each in of_schemas]
        print_json(document)
        return
    columns = ["SOURCE", "TARGET", "PARTITIONS", "OFFSETS TO COPY", "CREATED"]
    print_table(columns, [[*list(row.values())[:-1], "yes" if row["is_created"] else "no"] for row in rows])
    for bindings in (of_access, of_group_access):
        if bindings:
            found = rules.rows_of(bindings)
            print_table([name.upper() for name in found[0]], [list(row.values()) for row in found])
    if of_schemas:
        columns = ["SUBJECT", "VERSIONS", "SUBJECT AT THE TARGET", "VERSIONS THERE"]
        print_table(columns, [list(asdict(each).values()) for each in of_schemas])
    if of_groups is not None:
        # What is not found is mostly what is not copied yet.
        print_table(
            [name.upper().replace("_", " ") for name in COLUMNS[:-1]],
            [
                [*each.row()[:-2], "after the copy" if each.target_offset is None else each.target_offset]
                for each in of_groups
            ],
        )
    note("nothing was copied: this was --dry-run")


def _groups_as_json(rows: Sequence[CarriedOffset] | None) -> dict[str, Any]:
    if rows is None:
        return {}
    return {"groups": [dict(zip(COLUMNS, each.row(), strict=True)) for each in rows]}
