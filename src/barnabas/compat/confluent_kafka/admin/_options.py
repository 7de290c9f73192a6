"""The arguments of AdminClient's calls, as its original takes them, which is in C: complaints are the same.

Each method of `CallArguments` has the parameters of one call; `future` is the original's own, which no
program can give. What it returns are the options of the call. Knows nothing of what calls do.
"""

from __future__ import annotations

import math
from typing import Any

from barnabas.compat.librdkafka.values.arguments import c_arguments
from barnabas.values import frozen

LONGEST_TIMEOUT_MS = 3_600_000
LARGEST_BROKER_ID = 2**31 - 1
UNSET: Any = object()


@frozen
class CallOptions:
    """`timeout_ms` and `operation_timeout_ms`: None for the client's own. `broker_id`: None for whichever has
    to be asked. `validate_only` may be anything until it is checked."""

    timeout_ms: int | None = None
    operation_timeout_ms: int | None = None
    validate_only: bool = False
    broker_id: int | None = None
    include_operations: bool = False
    require_stable: bool = False

    @property
    def is_waited_for(self) -> bool:
        """Whether a broker is to wait until its work shows."""
        return self.operation_timeout_ms is None or self.operation_timeout_ms > 0

    def check_switches(self) -> None:
        """Raises: TypeError."""
        _check_switch("validate_only", self.validate_only)

    def check_ranges(self) -> None:
        """Raises: ValueError."""
        _check_range("request_timeout", self.timeout_ms, 0, LONGEST_TIMEOUT_MS)
        _check_range("operation_timeout", self.operation_timeout_ms, -1, LONGEST_TIMEOUT_MS)
        _check_range("broker", self.broker_id, 0, LARGEST_BROKER_ID)


class CallArguments:
    """See the module."""

    @c_arguments("OOOdd")
    def create_topics(
        self,
        topics: Any,
        future: Any,
        validate_only: Any = UNSET,
        request_timeout: Any = UNSET,
        operation_timeout: Any = UNSET,
    ) -> CallOptions:
        return CallOptions(
            timeout_ms=_milliseconds(request_timeout),
            operation_timeout_ms=_milliseconds(operation_timeout),
            validate_only=False if validate_only is UNSET else validate_only,
        )

    create_partitions = create_topics

    @c_arguments((list, "O", "d", "d"))
    def delete_topics(
        self, topics: Any, future: Any, request_timeout: Any = UNSET, operation_timeout: Any = UNSET
    ) -> CallOptions:
        return CallOptions(
            timeout_ms=_milliseconds(request_timeout),
            operation_timeout_ms=_milliseconds(operation_timeout),
        )

    delete_records = delete_topics

    @c_arguments("OOdi")
    def describe_configs(
        self, resources: Any, future: Any, request_timeout: Any = UNSET, broker: Any = UNSET
    ) -> CallOptions:
        return CallOptions(timeout_ms=_milliseconds(request_timeout), broker_id=_number(broker))

    @c_arguments("OOOdi")
    def alter_configs(
        self,
        resources: Any,
        future: Any,
        validate_only: Any = UNSET,
        request_timeout: Any = UNSET,
        broker: Any = UNSET,
    ) -> CallOptions:
        return CallOptions(
            timeout_ms=_milliseconds(request_timeout),
            validate_only=False if validate_only is UNSET else validate_only,
            broker_id=_number(broker),
        )

    incremental_alter_configs = alter_configs

    @c_arguments("OOd")
    def ask(self, subject: Any, future: Any, request_timeout: Any = UNSET) -> CallOptions:
        """For all calls that have but one subject and one option."""
        return CallOptions(timeout_ms=_milliseconds(request_timeout))

    @c_arguments("OOOd")
    def list_consumer_groups(
        self, future: Any, states_int: Any = UNSET, types_int: Any = UNSET, request_timeout: Any = UNSET
    ) -> CallOptions:
        return CallOptions(timeout_ms=_milliseconds(request_timeout))

    @c_arguments("OOdO")
    def describe(
        self,
        future: Any,
        subjects: Any,
        request_timeout: Any = UNSET,
        include_authorized_operations: Any = UNSET,
    ) -> CallOptions:
        """For topics and groups."""
        return CallOptions(
            timeout_ms=_milliseconds(request_timeout),
            include_operations=_switch("include_authorized_operations", include_authorized_operations),
        )

    @c_arguments("OdO")
    def describe_cluster(
        self, future: Any, request_timeout: Any = UNSET, include_authorized_operations: Any = UNSET
    ) -> CallOptions:
        return CallOptions(
            timeout_ms=_milliseconds(request_timeout),
            include_operations=_switch("include_authorized_operations", include_authorized_operations),
        )

    @c_arguments("OOOd")
    def list_consumer_group_offsets(
        self, request: Any, future: Any, require_stable: Any = UNSET, request_timeout: Any = UNSET
    ) -> CallOptions:
        return CallOptions(
            timeout_ms=_milliseconds(request_timeout),
            require_stable=_switch("require_stable", require_stable),
        )

    @c_arguments("OOOd")
    def list_offsets(
        self, topic_partitions: Any, future: Any, isolation_level: Any = UNSET, request_timeout: Any = UNSET
    ) -> CallOptions:
        return CallOptions(timeout_ms=_milliseconds(request_timeout))

    @c_arguments("OOOdd")
    def elect_leaders(
        self,
        election_type: Any,
        partitions: Any,
        future: Any,
        request_timeout: Any = UNSET,
        operation_timeout: Any = UNSET,
    ) -> CallOptions:
        return CallOptions(
            timeout_ms=_milliseconds(request_timeout),
            operation_timeout_ms=_milliseconds(operation_timeout),
        )


def _milliseconds(seconds: Any) -> int | None:
    if seconds is UNSET:
        return None
    return int(seconds * 1000) if math.isfinite(seconds) else -(2**31)


def _check_range(name: str, value: int | None, lowest: int, highest: int) -> None:
    if value is not None and not lowest <= value <= highest:
        raise ValueError(f'Invalid value type for "{name}": expecting integer in range {lowest}..{highest}')


def _number(value: Any) -> int | None:
    return None if value is UNSET else value


def _switch(name: str, value: Any) -> bool:
    if value is UNSET:
        return False
    _check_switch(name, value)
    return value


def _check_switch(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"Expected {name} to be bool type, not {type(value).__name__}")
