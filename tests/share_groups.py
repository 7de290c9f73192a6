"""Share groups that begin at the first record, whichever package then reads with them."""

from __future__ import annotations

from tests.waiting import wait_for

from barnabas import Admin, ConfigResource, ResourceType


def begin_at_the_first_record(bootstrap: str, group: str, **configs: str) -> None:
    """Also sets `configs`, with underscores for dots. Returns when the broker goes by them:
    the controller answers before brokers have heard of a change."""
    wanted = {"share.auto.offset.reset": "earliest"}
    wanted |= {name.replace("_", "."): value for name, value in configs.items()}
    resource = ConfigResource(ResourceType.GROUP, group)
    with Admin(bootstrap) as admin:
        admin.alter_configs({resource: wanted})

        def are_known() -> bool:
            found = admin.describe_configs([resource])[resource]
            return all(found[name].value == value for name, value in wanted.items())

        wait_for(are_known)
