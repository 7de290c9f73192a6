"""Requests and answers in the versions that pykafka knows, a module for each kind of them."""

from barnabas.compat.pykafka.protocol import (
    admin,
    base,
    fetch,
    group_membership,
    message,
    metadata,
    offset,
    offset_commit,
    produce,
)
from barnabas.compat.pykafka.protocol.admin import *  # noqa: F403
from barnabas.compat.pykafka.protocol.base import *  # noqa: F403
from barnabas.compat.pykafka.protocol.fetch import *  # noqa: F403
from barnabas.compat.pykafka.protocol.group_membership import *  # noqa: F403
from barnabas.compat.pykafka.protocol.message import *  # noqa: F403
from barnabas.compat.pykafka.protocol.metadata import *  # noqa: F403
from barnabas.compat.pykafka.protocol.offset import *  # noqa: F403
from barnabas.compat.pykafka.protocol.offset_commit import *  # noqa: F403
from barnabas.compat.pykafka.protocol.produce import *  # noqa: F403

__all__: list[str] = []
__all__ += admin.__all__
__all__ += base.__all__
__all__ += fetch.__all__
__all__ += group_membership.__all__
__all__ += message.__all__
__all__ += metadata.__all__
__all__ += offset.__all__
__all__ += offset_commit.__all__
__all__ += produce.__all__
