"""Who has a password for SASL SCRAM, and delegation tokens. Neither passwords nor HMACs are ever shown."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from barnabas.client.admin.types import ScramDeletion, ScramMechanism, ScramUpsertion
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.forms import changed, number
from barnabas.ui.inputs import told
from barnabas.ui.rendering import paged, render
from barnabas.ui.roles import Role
from barnabas.ui.security import sent_form

MECHANISMS = {"SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512, "SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256}
FEWEST_ITERATIONS, MOST_ITERATIONS = 4_096, 16_384


async def users(request: Request) -> Response:
    access: ClusterAccess = request.app.state.access
    found, problem = await told(access.admin.describe_user_scram_credentials())
    wanted = request.query_params.get("q", "").casefold()
    rows = [
        (user, info.mechanism.name.replace("_", "-"), info.iterations)
        for user, infos in sorted((found or {}).items())
        for info in infos
        if wanted in user.casefold()
    ]
    return render(
        request,
        "cluster/users.html",
        title="Users",
        tab="users",
        rows=paged(request, rows),
        mechanisms=MECHANISMS,
        fewest=FEWEST_ITERATIONS,
        most=MOST_ITERATIONS,
        problem_of_page=problem,
    )


async def set_password(request: Request) -> Response:
    form = await sent_form(request, Role.ADMIN)
    access: ClusterAccess = request.app.state.access
    user, mechanism = form.get("user", "").strip(), _mechanism(form.get("mechanism", ""))
    iterations = number(form, "iterations", FEWEST_ITERATIONS)
    if not user or not form.get("password"):
        raise HTTPException(400, "name a user, and give a password")
    # Each of them costs time here, as the password is hashed before it leaves.
    if not FEWEST_ITERATIONS <= iterations <= MOST_ITERATIONS:
        raise HTTPException(400, f"iterations: give {FEWEST_ITERATIONS} to {MOST_ITERATIONS}")
    wanted = ScramUpsertion(user, mechanism, form["password"], iterations)
    return await changed(
        request,
        access.admin.alter_user_scram_credentials([wanted]),
        "/cluster/users",
        f"{user} has the new password for {form['mechanism']}",
        renews=False,
    )


async def delete_password(request: Request) -> Response:
    form = await sent_form(request, Role.ADMIN)
    access: ClusterAccess = request.app.state.access
    user, mechanism = form.get("user", ""), _mechanism(form.get("mechanism", ""))
    return await changed(
        request,
        access.admin.alter_user_scram_credentials([ScramDeletion(user, mechanism)]),
        "/cluster/users",
        f"{user} has no password for {form['mechanism']} any more",
        renews=False,
    )


async def tokens(request: Request) -> Response:
    access: ClusterAccess = request.app.state.access
    found, problem = await told(access.admin.describe_delegation_tokens())
    rows = sorted(found or (), key=lambda token: (token.owner, token.token_id))
    return render(
        request,
        "cluster/tokens.html",
        title="Delegation tokens",
        tab="tokens",
        rows=paged(request, rows),
        problem_of_page=problem,
    )


def _mechanism(name: str) -> ScramMechanism:
    """Raises: HTTPException (400)."""
    if name not in MECHANISMS:
        raise HTTPException(400, f"mechanism: {name!r} is none of {', '.join(MECHANISMS)}")
    return MECHANISMS[name]


routes = [
    Route("/cluster/users", users),
    Route("/cluster/users", set_password, methods=["POST"]),
    Route("/cluster/users/delete", delete_password, methods=["POST"]),
    Route("/cluster/tokens", tokens),
]
