"""What users may do. Knows nothing of how they are recognised."""

from __future__ import annotations

from enum import IntEnum


class Role(IntEnum):
    """A role may do what those before it may.

    A viewer changes nothing. An operator changes records and offsets: writes, resends and deletes records,
    moves groups. An admin changes also what the cluster is: topics, settings, ACLs, users, quotas, schemas,
    and faults of an embedded broker.
    """

    VIEWER = 1
    OPERATOR = 2
    ADMIN = 3


ROLES_OF_USERS = {
    "viewer": Role.VIEWER,
    "operator": Role.OPERATOR,
    "admin": Role.ADMIN,
    # Files of a registry's users.
    "read": Role.VIEWER,
    "write": Role.ADMIN,
}
"""What files of users call them."""
