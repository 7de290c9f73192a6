"""The part of Admin that concerns access control lists.

Owns the requests and what their answers mean. Must not know how a request finds its broker.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.client.admin.arguments import NONE, check_type, items_of
from barnabas.client.admin.calls import AdminCalls, check, failure, outcomes
from barnabas.client.admin.requests import acls as requests
from barnabas.client.admin.requests.common import Answer
from barnabas.client.admin.types import AclBinding, AclBindingFilter
from barnabas.errors import BarnabasError


class AclAdmin(AdminCalls):
    """See `barnabas.client.admin.admin.Admin`."""

    async def create_acls(self, acls: Iterable[AclBinding], *, timeout: float | None = None) -> None:
        """Creates rules; one that is there already stays. Raises: SecurityDisabledError (the broker has no
        authorizer), ClusterAuthorizationFailedError, InvalidRequestError, ..."""
        wanted = items_of(acls, "acls", AclBinding)

        async def ask(controller: int, group: list[AclBinding]) -> dict[AclBinding, BarnabasError | None]:
            response = await self._send(controller, requests.create_acls(group))
            return outcomes(requests.created_acls(group, response), str)

        await self._ask_controller_for_each(wanted, ask, what="creating ACLs", timeout=timeout)

    async def describe_acls(
        self, filter: AclBindingFilter | None = None, *, timeout: float | None = None
    ) -> list[AclBinding]:
        """The rules that a filter matches; None means all. Raises: SecurityDisabledError, ..."""
        check_type(filter, (AclBindingFilter, NONE), "filter")
        request = requests.describe_acls(filter or AclBindingFilter())
        response = await self._ask(self._client.any_node, request, timeout)
        check(response.error_code, "describing ACLs", response.error_message)
        return requests.described_acls(response)

    async def delete_acls(
        self, filters: Iterable[AclBindingFilter], *, timeout: float | None = None
    ) -> dict[AclBindingFilter, list[AclBinding]]:
        """Deletes the rules that filters match, and gives those that each one deleted.

        Raises: SecurityDisabledError, ClusterAuthorizationFailedError, ...
        """
        wanted = items_of(filters, "filters", AclBindingFilter)

        async def ask(
            controller: int, group: list[AclBindingFilter]
        ) -> dict[AclBindingFilter, list[AclBinding] | BarnabasError]:
            response = await self._send(controller, requests.delete_acls(group))
            return {
                answer.key: failure(answer.code, str(answer.key), answer.message) or _deleted(answer.result)
                for answer in requests.deleted_acls(group, response)
            }

        return await self._ask_controller_for_each(wanted, ask, what="deleting ACLs", timeout=timeout)


def _deleted(matching: list[Answer[AclBinding, None]]) -> list[AclBinding] | BarnabasError:
    for answer in matching:
        error = failure(answer.code, str(answer.key), answer.message)
        if error is not None:
            return error
    return [answer.key for answer in matching]
