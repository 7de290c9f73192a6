"""Faults of an embedded broker, or of a proxy before any Kafka, as switches, and the requests that it gets:
what `--faults-port` serves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from barnabas.broker.faults.rules import EFFECTS, FaultRule, api_name
from barnabas.protocol.api_key import ApiKey
from barnabas.testing.fault_control import FaultControl
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.forms import changed, number
from barnabas.ui.rendering import render
from barnabas.ui.roles import Role
from barnabas.ui.security import sent_form

# A hook needs a program that answers; a proxy and a broker alike do the others.
OFFERED = tuple(effect for effect in EFFECTS if effect != "hook")
EVERY_API = sorted(api_name(key) for key in ApiKey)
MOST_REQUESTS = 100
APIS = ("Produce", "Fetch", "Metadata", "ListOffsets", "OffsetCommit", "OffsetFetch", "FindCoordinator")


async def faults(request: Request) -> Response:
    control = _control(request)
    api, client = request.query_params.get("api", ""), request.query_params.get("client", "")
    if api and api not in EVERY_API:
        raise HTTPException(400, f"there are no requests of the kind {api!r}")
    which = {"client_id": f"*{_as_it_is(client)}*"} if client else {}
    rules, asked = await asyncio.gather(
        asyncio.to_thread(control.call, "GET", "/faults"),
        asyncio.to_thread(control.newest_requests, MOST_REQUESTS, api or None, **which),
    )
    return render(
        request,
        "cluster/faults.html",
        title="Faults",
        rows=rules["faults"],
        url=control.url,
        effects=OFFERED,
        apis=APIS,
        asked=asked,
        every_api=EVERY_API,
    )


def _as_it_is(text: str) -> str:
    """For a pattern of `fnmatch`, in which it means nothing but itself."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in text)


async def add(request: Request) -> Response:
    form = await sent_form(request, Role.ADMIN)
    control = _control(request)
    effect = form.get("effect", "")
    milliseconds = number(form, "ms", -1)
    times = number(form, "times", -1)
    said: dict[str, Any] = {
        "effect": effect,
        "apis": [form["api"]] if form.get("api") else None,
        "error": form.get("error") or None,
        "throttle_ms" if effect == "throttle" else "delay_ms": None if milliseconds < 0 else milliseconds,
        "topic": form.get("topic") or None,
        "times": None if times < 0 else times,
    }

    def tell() -> None:
        rule = FaultRule.from_json({name: value for name, value in said.items() if value is not None})
        control.add(rule)

    return await _done(request, tell, "the fault is in force")


async def switch(request: Request) -> Response:
    """One of the switches, which `do` names."""
    form = await sent_form(request, Role.ADMIN)
    control = _control(request)
    rule_id = form.get("id", "")
    switches: dict[str, tuple[Callable[[], Any], str]] = {
        "remove": (lambda: control.fault(rule_id).remove(), "the fault has ended"),
        "release": (lambda: control.fault(rule_id).release(), "what it held is let go"),
        "clear": (control.clear, "there are no faults any more"),
        "disk-full": (control.disk_full, "nothing has room on the broker's disk"),
        "disk-free": (lambda: control.disk_full(False), "there is room on the broker's disk again"),
    }
    chosen = switches.get(form.get("do", ""))
    if chosen is None:
        raise HTTPException(400, f"there is no switch {form.get('do', '')!r}")
    return await _done(request, *chosen)


async def _done(request: Request, tell: Callable[[], Any], told: str) -> Response:
    return await changed(request, asyncio.to_thread(tell), "/faults", told, renews=False)


def _control(request: Request) -> FaultControl:
    """Raises: HTTPException (404)."""
    access: ClusterAccess = request.app.state.access
    if access.settings.faults is None:
        raise HTTPException(404, "no faults are taken: see `barnabas up --faults-port`")
    return FaultControl(access.settings.faults)


routes = [
    Route("/faults", faults),
    Route("/faults", add, methods=["POST"]),
    Route("/faults/switch", switch, methods=["POST"]),
]
