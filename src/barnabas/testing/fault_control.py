"""Faults of a broker or a proxy in another process, told over HTTP.

    broker.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", times=3)
    barrier = broker.faults.hold("Fetch", topic="flights", partition=3, times=1)
    barrier.wait()
    barrier.release()

Owns the calls and the threads of hooks. Must not know the broker from inside, only the language.
"""

from __future__ import annotations

import base64
import http.client
import json
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from barnabas.broker.faults.language import FaultLanguage
from barnabas.broker.faults.rules import FaultRule, api_name
from barnabas.errors import BarnabasError, MisuseError
from barnabas.protocol.api_key import ApiKey
from barnabas.protocol.codec import decode, encode
from barnabas.protocol.registry import REQUESTS
from barnabas.protocol.schema import Request, Response
from barnabas.values import frozen

CALL_TIMEOUT_SECONDS = 30.0
HOOK_POLL_MS = 1_000

logger = logging.getLogger(__name__)


class FaultControlError(BarnabasError):
    """The broker or proxy does not answer, or refuses the fault."""


class Disconnect:
    """What a hook gives to have the connection ended."""


@frozen
class RecordedRequest:
    """A request as it was recorded. `partitions`: of each topic that it names."""

    number: int
    api: str
    version: int
    node: int
    client_id: str
    client: str
    partitions: Mapping[str, tuple[int, ...]]
    groups: tuple[str, ...]
    transactional_id: str | None

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> RecordedRequest:
        """Reads it from what the broker's `/requests` answers."""
        names = ("number", "api", "version", "node", "client_id", "client", "transactional_id")
        return cls(
            **{name: said[name] for name in names},
            partitions={topic: tuple(indexes) for topic, indexes in said["partitions"].items()},
            groups=tuple(said["groups"]),
        )

    def as_json(self) -> dict[str, Any]:
        """Returns it as the broker's `/requests` answers it."""
        names = ("number", "api", "version", "node", "client_id", "client", "partitions", "groups")
        return {name: getattr(self, name) for name in (*names, "transactional_id")}


Hook = Callable[[RecordedRequest, Request[Any]], Response | Disconnect | None]
"""Sees each request, in a thread of its own, and may answer it. None: it takes its way."""


class ControlledFault:
    """A fault in force. As a context manager it is removed in the end."""

    def __init__(self, control: FaultControl, rule_id: str) -> None:
        self._control = control
        self.rule_id = rule_id

    @property
    def hits(self) -> int:
        """How many requests it was applied to."""
        return self._told()["hits"]

    @property
    def is_used_up(self) -> bool:
        """Whether it has met all the requests that it was for (`times`)."""
        return self._told()["is_used_up"]

    @property
    def requests(self) -> list[RecordedRequest]:
        """Those that it was applied to."""
        numbers = set(self._told()["requests"])
        return [each for each in self._control.requests() if each.number in numbers]

    def wait(self, hits: int = 1, timeout: float = 30.0) -> None:
        """Returns once it was applied to so many requests. Raises: TimeoutError."""
        query = urlencode({"hits": hits, "timeout_ms": int(timeout * 1000)})
        self._control.call("GET", f"/faults/{self.rule_id}?{query}", timeout=timeout)

    def release(self) -> None:
        """Lets go what it holds, and holds nothing any more."""
        self._control.call("POST", f"/faults/{self.rule_id}/release")

    def remove(self) -> None:
        """Ends it; what it holds is let go."""
        self._control.end_hook(self.rule_id)
        self._control.call("DELETE", f"/faults/{self.rule_id}")

    def _told(self) -> dict[str, Any]:
        return self._control.call("GET", f"/faults/{self.rule_id}")

    def __enter__(self) -> ControlledFault:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


class FaultControl(FaultLanguage[ControlledFault]):
    """The faults of whoever listens at `url`. They meet clients of `bootstrap`, where that is known here.

    `call_timeout_seconds`: how long a call may take, beside what it waits for.

    Raises: FaultControlError, at every call.
    """

    def __init__(
        self, url: str, bootstrap: str = "", *, call_timeout_seconds: float = CALL_TIMEOUT_SECONDS
    ) -> None:
        self.url = url
        self.bootstrap = bootstrap
        self._call_timeout_seconds = call_timeout_seconds
        address = urlsplit(url)
        if address.scheme != "http" or not address.hostname:
            raise MisuseError(f"the address of faults is a URL such as http://127.0.0.1:9093, not {url!r}")
        self._host, self.port = address.hostname, address.port or 80
        self._hooks: dict[str, _HookThread] = {}

    def add(self, rule: FaultRule) -> ControlledFault:
        """Tells one rule as `FaultRule` has it; the other calls make one of their arguments."""
        return self.script(rule)[0]

    def fault(self, rule_id: str) -> ControlledFault:
        """One that was set before, here or elsewhere."""
        return ControlledFault(self, rule_id)

    def script(self, *rules: FaultRule | Mapping[str, Any]) -> list[ControlledFault]:
        """Several at once, all or none; in dictionaries "follows": "previous" has them come in order."""
        told = [rule.as_json() if isinstance(rule, FaultRule) else dict(rule) for rule in rules]
        answer = self.call("POST", "/faults", told)
        return [ControlledFault(self, each["id"]) for each in answer["faults"]]

    def hook(self, function: Hook, *apis: str | int, **which: Any) -> ControlledFault:
        """Shows requests to a function in a thread of this process, which may answer them; they wait for it.
        `which`: as for errors. An error of the function's is logged, and the request takes its way."""
        rule = FaultRule.from_json({"effect": "hook", **({"apis": list(apis)} if apis else {}), **which})
        fault = self.add(rule)
        self._hooks[fault.rule_id] = _HookThread(self, fault.rule_id, function)
        return fault

    def clear(self, seed: int | None = None) -> None:
        """No faults, nothing recorded, disk, clock and nodes as they were. `seed`: of chance from now on."""
        self.end_hooks()
        self.call("DELETE", "/faults" if seed is None else f"/faults?seed={seed}")

    def requests(self, api: str | int | None = None, **which: Any) -> list[RecordedRequest]:
        """The requests since `clear`, or since the first fault was set here. `which`: `node`, `topic`,
        `partition`, `client_id`, `group`, `transactional_id`."""
        query = urlencode({**({} if api is None else {"api": api}), **which})
        return [
            RecordedRequest.from_json(each) for each in self.call("GET", f"/requests?{query}")["requests"]
        ]

    def newest_requests(self, most: int, api: str | int | None = None, **which: Any) -> dict[str, Any]:
        """The newest first, at most so many, with who asked, how long it took and which error was answered.
        `matching`: how many of those `looked_at` are chosen as for `requests`, which are the last 10,000;
        `total`: how many there were."""
        query = urlencode({"newest": most, **({} if api is None else {"api": api}), **which})
        return self.call("GET", f"/requests?{query}")

    def state(self) -> dict[str, Any]:
        """What the calls here change: the ids of faults in force, the broker's nodes, disk and clock."""
        return self.call("GET", "/state")

    def disk_full(self, is_full: bool = True) -> None:
        """Fills the broker's disk, so that nothing more can be written, or empties it again."""
        self.call("PUT", "/disk", {"is_full": is_full})

    def move_clock(self, ms: int) -> None:
        """Moves what the broker takes for the time of day; back with a negative number."""
        self.call("POST", "/clock", {"move_ms": ms})

    def pass_time(self, ms: int) -> None:
        """Lets time pass for the broker, without waiting for it: sessions, delays, time-outs and upkeep that
        are due meanwhile have ended when this returns. Clients do not notice, and send no heartbeats."""
        self.call("POST", "/clock", {"pass_ms": ms})

    def rebalance(self, group: str) -> None:
        """Has a group rebalance."""
        self.call("POST", f"/groups/{quote(group, safe='')}/rebalance")

    def move_coordinator(self, group: str, node: int) -> None:
        """Has another node coordinate a group."""
        self.call("POST", f"/groups/{quote(group, safe='')}/coordinator", {"node": node})

    def move_leader(self, topic: str, partition: int, node: int) -> None:
        """Has another replica that is in sync lead a partition."""
        self.call("PUT", "/leaders", {"topic": topic, "partition": partition, "node": node})

    def stop_node(self, node: int) -> None:
        """One of several; the others do without it."""
        self.call("PUT", f"/nodes/{node}", {"state": "stopped"})

    def kill_node(self, node: int) -> None:
        """Ends a node as SIGKILL ends a process; the others miss it after broker.session.timeout.ms."""
        self.call("PUT", f"/nodes/{node}", {"state": "killed"})

    def start_node(self, node: int) -> None:
        """Comes back with the data it had."""
        self.call("PUT", f"/nodes/{node}", {"state": "started"})

    def pause_node(self, node: int) -> None:
        """Freezes it with its connections open."""
        self.call("PUT", f"/nodes/{node}", {"state": "paused"})

    def resume_node(self, node: int) -> None:
        """Goes on with what has come in."""
        self.call("PUT", f"/nodes/{node}", {"state": "resumed"})

    def part_node(self, node: int) -> None:
        """Cuts it off from the other nodes, and not from clients."""
        self.call("PUT", f"/nodes/{node}", {"state": "parted"})

    def join_node(self, node: int) -> None:
        """Ends `part_node`; acknowledged with acks=all is what all have then."""
        self.call("PUT", f"/nodes/{node}", {"state": "joined"})

    def lag_node(self, node: int) -> None:
        """Has it follow what others lead no further; it is counted out of those in sync after
        replica.lag.time.max.ms."""
        self.call("PUT", f"/nodes/{node}", {"state": "lagging"})

    def catch_up_node(self, node: int) -> None:
        """Ends `lag_node`; it is in sync again once it has all that the leaders have."""
        self.call("PUT", f"/nodes/{node}", {"state": "catching_up"})

    def call(self, method: str, path: str, body: Any = None, *, timeout: float = 0) -> Any:
        """What is answered to a call over HTTP; `timeout`: how long it may wait there."""
        connection = http.client.HTTPConnection(
            self._host, self.port, timeout=self._call_timeout_seconds + timeout
        )
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            said = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise FaultControlError(f"nobody takes faults at {self.url}: {error}") from None
        finally:
            connection.close()
        if answer.status == http.client.REQUEST_TIMEOUT:
            raise TimeoutError(said["error"])
        if answer.status != http.client.OK:
            raise FaultControlError(said["error"])
        return said

    def end_hooks(self) -> None:
        """Functions are shown nothing any more."""
        for rule_id in list(self._hooks):
            self.end_hook(rule_id)

    def end_hook(self, rule_id: str) -> None:
        """Ends the hook of this rule; requests that wait for it go on."""
        hook = self._hooks.pop(rule_id, None)
        if hook is not None:
            hook.end()


class _HookThread:
    """Fetches what a hook meets, one request after the other."""

    def __init__(self, control: FaultControl, rule_id: str, function: Hook) -> None:
        self._control = control
        self._path = f"/faults/{rule_id}/hooked"
        self._function = function
        self._is_over = False
        self._thread = threading.Thread(target=self._run, name=f"barnabas-hook-{rule_id}", daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._is_over = True
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while not self._is_over:
            try:
                path = f"{self._path}?timeout_ms={HOOK_POLL_MS}"
                hooked = self._control.call("GET", path)["hooked"]
                if hooked is not None:
                    self._control.call("POST", self._path, self._decide(hooked))
            except FaultControlError as error:
                if not self._is_over:
                    logger.warning("a hook has ended: %s", error)
                return

    def _decide(self, hooked: Mapping[str, Any]) -> dict[str, Any]:
        recorded = RecordedRequest.from_json(hooked)
        decided: dict[str, Any] = {"number": recorded.number}
        request_type = _request_type(recorded.api)
        try:
            request = decode(request_type, recorded.version, base64.b64decode(hooked["request"]))
            answer = self._function(recorded, request)
            if isinstance(answer, Disconnect):
                decided["disconnect"] = True
            elif answer is not None:
                decided["answer"] = base64.b64encode(encode(answer, recorded.version)).decode()
        except Exception:
            logger.exception("a hook failed at a %s request, which takes its way", recorded.api)
        return decided


def _request_type(api: str) -> type[Request[Any]]:
    key = next(key for key in ApiKey if api_name(key) == api)
    return REQUESTS[key]
