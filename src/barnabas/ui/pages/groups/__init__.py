"""Groups of all types: their members, their lag and its history, moving them, and what else changes them."""

from __future__ import annotations

from starlette.routing import Route

from barnabas.ui.pages.groups.changing import delete, forget_offsets, remove_members
from barnabas.ui.pages.groups.moving import preview, reset
from barnabas.ui.pages.groups.showing import group, groups

routes = [
    Route("/groups", groups),
    Route("/group", group),
    Route("/group/reset", preview),
    Route("/group/reset", reset, methods=["POST"]),
    Route("/group/members/remove", remove_members, methods=["POST"]),
    Route("/group/offsets/delete", forget_offsets, methods=["POST"]),
    Route("/group/delete", delete, methods=["POST"]),
]
