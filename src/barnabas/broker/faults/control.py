"""The language of faults over HTTP, for programs in other processes.

    GET    /faults                      all of them, with their hits
    POST   /faults                      a rule, or a list; there "follows": "previous" makes a script
    DELETE /faults?seed=1               no faults, no record, the disk and the clock as they were
    GET    /faults/ID?hits=2&timeout_ms=30000   waits until it has met so many requests
    POST   /faults/ID/release           lets go what it holds
    DELETE /faults/ID
    GET    /faults/ID/hooked?timeout_ms=        the next request that a rule of effect "hook" meets
    POST   /faults/ID/hooked            {"number": 7, "answer": base64 or null, "disconnect": false}
    GET    /requests?api=Fetch&topic=t  what was asked; with newest=100 only the newest, the newest first
    PUT    /disk                        {"is_full": true}
    POST   /clock                       {"move_ms": 60000} or {"pass_ms": 60000}
    POST   /groups/NAME/rebalance
    POST   /groups/NAME/coordinator     {"node": 2}
    GET    /nodes                       all of them, each as below
    GET    /nodes/ID                    whether it runs, is paused, is parted, and lags
    PUT    /nodes/ID                    {"state": "stopped"}, killed, started, paused, resumed, parted,
                                        joined, lagging, catching_up
    GET    /state                       ids of the faults in force; disk, clock and nodes
    PUT    /leaders                     {"topic": "t", "partition": 0, "node": 2}

Owns the paths and what is in bodies. Must not know what becomes of a fault.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Mapping
from typing import Any, cast

from barnabas.broker.faults.injector import Answered, FaultInjector, HookedRequest
from barnabas.broker.faults.rules import FaultRule, FaultRuleError
from barnabas.broker.faults.upsets import BrokerUpsets
from barnabas.errors import BarnabasError, BrokenProtocolError
from barnabas.http.json_server import JsonCall, JsonCallError
from barnabas.net.server import DisconnectError
from barnabas.protocol.codec import decode, encode
from barnabas.protocol.schema import Request, Response

DEFAULT_WAIT_MS = 30_000
_NUMBERS = ("node", "partition", "newest")


class FaultControls:
    """Carries out what comes over HTTP. `upsets`: None where there is no broker of our own."""

    def __init__(self, injector: FaultInjector, upsets: BrokerUpsets | None = None) -> None:
        self._injector = injector
        self._upsets = upsets
        self._hooks: dict[str, _RemoteHook] = {}

    async def respond(self, call: JsonCall) -> Any:
        """Raises: JsonCallError."""
        try:
            match call.method, call.path:
                case _, ("faults", *rest):
                    return await self._faults(call, rest)
                case "GET", ("requests",):
                    which = {
                        name: int(value) if name in _NUMBERS else value for name, value in call.query.items()
                    }
                    return self._requests(which)
                case "GET", ("nodes",):
                    return {"nodes": self._nodes_of().state()["nodes"]}
                case "GET", ("nodes", node_id):
                    return self._nodes_of().node_state(int(node_id))
                case "GET", ("state",):
                    faults = [each.as_json()["id"] for each in self._injector.all_in_force()]
                    return {"faults": faults, **self._nodes_of().state()}
                case _, ("disk" | "clock" | "groups" | "nodes" | "leaders", *_):
                    return await self._upset(call)
                case _:
                    raise JsonCallError(404, f"there is no {call.method} /{'/'.join(call.path)}")
        except TimeoutError as error:
            raise JsonCallError(408, str(error)) from None
        except (BarnabasError, ValueError, TypeError) as error:
            raise JsonCallError(400, str(error)) from None

    def _requests(self, which: dict[str, Any]) -> dict[str, Any]:
        newest = which.pop("newest", None)
        if newest is None:
            return {"requests": [each.as_json() for each in self._injector.requests(**which)]}
        found = self._injector.newest(newest, **which)
        return {
            "requests": [each.as_json() for each in found.newest],
            "matching": found.matching,
            "looked_at": found.looked_at,
            "total": found.total,
        }

    async def _faults(self, call: JsonCall, rest: list[str]) -> Any:
        match call.method, rest:
            case "GET", []:
                return {"faults": [each.as_json() for each in self._injector.all_in_force()]}
            case "POST", []:
                return {"faults": self._add(call.body)}
            case "DELETE", []:
                seed = call.query.get("seed")
                self._injector.clear(None if seed is None else int(seed))
                self._hooks.clear()
                if self._upsets is not None:
                    await self._upsets.settle()
                return {}
            case "GET", [rule_id]:
                await self._wait(rule_id, call.query)
                return self._injector.in_force(rule_id).as_json()
            case "DELETE", [rule_id]:
                told = self._injector.in_force(rule_id).as_json()
                self._injector.remove(rule_id)
                self._hooks.pop(rule_id, None)
                return told
            case "POST", [rule_id, "release"]:
                self._injector.release(rule_id)
                return self._injector.in_force(rule_id).as_json()
            case "GET", [rule_id, "hooked"]:
                return {"hooked": await self._hook(rule_id).next(_timeout_seconds(call.query))}
            case "POST", [rule_id, "hooked"]:
                self._hook(rule_id).answer(_dictionary(call.body))
                return {}
            case _:
                raise JsonCallError(404, f"there is no {call.method} /{'/'.join(call.path)}")

    def _add(self, body: Any) -> list[dict[str, Any]]:
        """All or none."""
        rules = cast("list[Any]", body) if isinstance(body, list) else [body]
        added: list[str] = []
        try:
            for each in rules:
                rule = dict(_dictionary(each))
                if rule.get("follows") == "previous":
                    rule["follows"] = added[-1] if added else None
                added.append(self._add_one(FaultRule.from_json(rule)))
        except FaultRuleError:
            for rule_id in reversed(added):
                self._injector.remove(rule_id)
            raise
        return [self._injector.in_force(rule_id).as_json() for rule_id in added]

    def _add_one(self, rule: FaultRule) -> str:
        if rule.effect != "hook":
            return self._injector.add(rule).rule_id
        hook = _RemoteHook()
        which = {name: value for name, value in rule.as_json().items() if name not in ("effect", "apis")}
        rule_id = self._injector.hook(hook, *(rule.apis or ()), **which).rule_id
        self._hooks[rule_id] = hook
        return rule_id

    def _hook(self, rule_id: str) -> _RemoteHook:
        self._injector.in_force(rule_id)
        hook = self._hooks.get(rule_id)
        if hook is None:
            raise FaultRuleError(f"fault {rule_id} is no hook")
        return hook

    async def _wait(self, rule_id: str, query: Mapping[str, str]) -> None:
        if "hits" in query:
            await self._injector.wait_for_hits(rule_id, int(query["hits"]), _timeout_seconds(query))

    def _nodes_of(self) -> BrokerUpsets:
        if self._upsets is None:
            raise JsonCallError(400, "this is a proxy: nodes are another broker's")
        return self._upsets

    async def _upset(self, call: JsonCall) -> Any:
        if self._upsets is None:
            raise JsonCallError(400, "this is a proxy: disk, clock, nodes and groups are another's")
        match call.method, call.path:
            case "PUT", ("disk",):
                self._upsets.fill_disk(is_full=bool(_dictionary(call.body).get("is_full")))
            case "POST", ("clock",):
                clock = _dictionary(call.body)
                self._upsets.move_clock(int(clock.get("move_ms", 0)))
                await self._upsets.pass_time(int(clock.get("pass_ms", 0)))
            case "POST", ("groups", group, "rebalance"):
                self._upsets.rebalance(group)
            case "POST", ("groups", group, "coordinator"):
                self._upsets.move_coordinator(group, _number(call.body, "node"))
            case "PUT", ("nodes", node_id):
                await self._upsets.change_node(int(node_id), str(_dictionary(call.body).get("state")))
            case "PUT", ("leaders",):
                topic = str(_dictionary(call.body).get("topic"))
                self._upsets.move_leader(topic, _number(call.body, "partition"), _number(call.body, "node"))
            case _:
                raise JsonCallError(404, f"there is no {call.method} /{'/'.join(call.path)}")
        return {}


def _timeout_seconds(query: Mapping[str, str]) -> float:
    return int(query.get("timeout_ms", DEFAULT_WAIT_MS)) / 1000


def _number(body: Any, name: str) -> int:
    value = _dictionary(body).get(name)
    if not isinstance(value, int):
        raise FaultRuleError(f"{name} is a number")
    return value


def _dictionary(body: Any) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise FaultRuleError("the body is an object of JSON")
    return cast("dict[str, Any]", body)


class _RemoteHook:
    """A hook whose function is in another process: requests wait here until they are fetched and decided."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[HookedRequest] = asyncio.Queue()
        self._decided: dict[int, tuple[HookedRequest, asyncio.Future[Answered]]] = {}

    async def __call__(self, hooked: HookedRequest) -> Answered:
        number = hooked.seen.number
        decided: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        self._decided[number] = hooked, decided
        self._waiting.put_nowait(hooked)
        try:
            return await decided
        finally:
            del self._decided[number]

    async def next(self, timeout: float) -> dict[str, Any] | None:
        """None: no request came. One whose client has gone meanwhile is left out."""
        try:
            async with asyncio.timeout(timeout):
                while True:
                    hooked = await self._waiting.get()
                    if hooked.seen.number in self._decided:
                        break
        except TimeoutError:
            return None
        body = encode(hooked.request, hooked.header.request_api_version)
        return {**hooked.seen.as_json(), "request": base64.b64encode(body).decode()}

    def answer(self, body: Mapping[str, Any]) -> None:
        """Raises: FaultRuleError."""
        waiting = self._decided.get(int(body.get("number", 0)))
        if waiting is None or waiting[1].done():
            return
        hooked, decided = waiting
        if body.get("disconnect"):
            decided.set_exception(DisconnectError("a hook ends the connection"))
        elif body.get("answer") is None:
            decided.set_result(None)
        else:
            decided.set_result(_response(hooked.request, hooked.header.request_api_version, body["answer"]))


def _response(request: Request[Any], version: int, encoded: str) -> Response:
    try:
        return decode(request.RESPONSE, version, base64.b64decode(encoded, validate=True))
    except (binascii.Error, BrokenProtocolError) as error:
        raise FaultRuleError(f"this is no answer to {request.NAME} in version {version}: {error}") from None
