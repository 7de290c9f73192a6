"""How an AdminClient lives: its futures, its callbacks, and how it ends.

Each function is one behaviour.
"""
# One call a line, so that lines can be compared at a glance.

from __future__ import annotations

import threading
import warnings
from concurrent.futures import Future
from typing import Any

from tests.compat.facade_script import SILENT, FacadeScript
from tests.waiting import wait_for

UNREACHABLE = "127.0.0.1:1"


def futures_are_under_way_at_once_and_cannot_be_cancelled(run: FacadeScript) -> None:
    future = run.admin().describe_cluster()
    run.show("kind", lambda: type(future) is Future)
    run.show("cancel", lambda: [future.cancel(), future.cancelled()])
    run.show("result", lambda: type(future.result(10)).__name__)
    run.show("done", lambda: [future.done(), future.running(), future.exception()])


def futures_of_one_call_fail_with_one_exception(run: FacadeScript) -> None:
    client = run.admin()
    made = client.create_topics(
        [run.admin_module.NewTopic(name, 1, 1) for name in ("a", "b")], request_timeout=0
    )
    failures = [future.exception(10) for future in made.values()]
    run.show("one", lambda: failures[0] is failures[1])


def callbacks_of_futures_may_use_the_client(run: FacadeScript) -> None:
    client = run.admin()
    seen: list[Any] = []
    done = threading.Event()

    def called(future: Any) -> None:
        try:
            seen.append(threading.current_thread() is threading.main_thread())
            seen.append(len(client.list_topics(timeout=10).brokers))
            seen.append(type(future.result()).__name__)
        finally:
            done.set()

    client.describe_cluster().add_done_callback(called)
    done.wait(10)
    run.show("callback", lambda: seen)


def a_subclass_is_as_good(run: FacadeScript) -> None:
    class Mine(run.admin_module.AdminClient):
        def __init__(self, servers: str) -> None:
            super().__init__({"bootstrap.servers": servers})
            self.mine = 1

    with Mine(run.bootstrap) as client:
        run.show("result", lambda: type(client.describe_cluster().result(10)).__name__)
        run.show("own", lambda: client.mine)
    run.show("after", lambda: client.describe_cluster())


def old_calls_warn(run: FacadeScript) -> None:
    client = run.admin()
    resource = run.admin_module.ConfigResource("topic", "a", {"a": "b"})
    for label, call in (
        ("list_groups", lambda: client.list_groups(timeout=10)),
        ("alter_configs", lambda: client.alter_configs([resource])),
    ):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            call()
        given = [(w.category.__name__, str(w.message), w.filename == __file__) for w in warned]
        run.show(label, lambda given=given: given)


def errors_reach_the_callback_when_the_client_is_polled(run: FacadeScript) -> None:
    told: list[Any] = []
    client = run.admin_module.AdminClient(
        {"bootstrap.servers": UNREACHABLE, "error_cb": lambda error: told.append(error)}, logger=SILENT
    )
    with client:
        run.show("before", lambda: list(told))
        wait_for(lambda: (client.poll(0.1), len(told) >= 2)[1], timeout=20)
        codes = {error.name() for error in told}
        run.show("codes", lambda: sorted(codes))
        run.show("thread", lambda: isinstance(told[0], run.package.KafkaError))


def asking_for_a_topic_may_create_it(run: FacadeScript) -> None:
    name = run.name("absent")
    client = run.admin()
    client.list_topics(name, timeout=10)
    wait_for(lambda: name in client.list_topics(timeout=10).topics, timeout=20)
    wait_for(lambda: client.list_topics(name, timeout=10).topics[name].partitions, timeout=20)
    run.show("then", lambda: len(client.list_topics(name, timeout=10).topics[name].partitions))
    other = run.name("other")
    careful = run.admin(**{"allow.auto.create.topics": False})
    run.show("not", lambda: careful.list_topics(other, timeout=10).topics[other])
    run.show("still not", lambda: other in client.list_topics(timeout=10).topics)
    run.show("nor by describing", lambda: client.describe_topics(run.package.TopicCollection([other])))
    run.show(
        "nor by offsets",
        lambda: client.list_offsets(
            {run.package.TopicPartition(other, 0): run.admin_module.OffsetSpec.latest()}
        ),
    )
    run.show("not in the end", lambda: other in client.list_topics(timeout=10).topics)


def a_broker_without_an_authorizer_has_no_access_rules(run: FacadeScript) -> None:
    client, admin = run.admin(), run.admin_module
    everything = admin.AclBindingFilter("any", None, "any", None, None, "any", "any")
    rule = admin.AclBinding("topic", "a", "literal", "User:a", "*", "read", "allow")
    run.show("describe", lambda: client.describe_acls(everything))
    run.show("create", lambda: client.create_acls([rule]))
    run.show("delete", lambda: client.delete_acls([everything]))
