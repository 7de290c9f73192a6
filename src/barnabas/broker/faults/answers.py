"""What an error looks like in the answer of each API, to all of a request or some partitions. Pure.

Owns where in a message partitions, groups and resources are. Knows nothing of rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from barnabas.broker_errors import ErrorCode
from barnabas.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from barnabas.protocol.schema import ZERO_UUID, Request, Response, Struct, fields_of

PARTITION_FIELDS = ("index", "partition", "partition_index", "partition_id")
TOPIC_FIELDS = ("name", "topic", "topic_name")
OTHER_KEYS = (
    *(
        "group_id",
        "transactional_id",
        "key",
        "resource_type",
        "resource_name",
        "producer_id",
        "entity",
        "user",
    ),
    *("user", "feature", "member_id", "group_instance_id"),
)
TEXT_KEYS = (*TOPIC_FIELDS, "group_id", "key", "transactional_id")
NULL_PROTOCOL_VERSION = 7
"""Of JoinGroup: the first that can say that there is no protocol."""
ERROR_FIELDS = ("error_code", "partition_error_code")
TOPIC_RESOURCE = 2
OF_TRANSACTIONS, OF_SHARE_PARTITIONS = 1, 2
"""Kinds of coordinators that are not groups'."""

Path = Sequence[str]


@dataclass(frozen=True, slots=True)
class RequestPart:
    """What a part of a request is about."""

    topic: str | None = None
    partition: int | None = None
    group: str | None = None
    transactional_id: str | None = None


Accepts = Callable[[RequestPart], bool]
TopicName = Callable[[UUID], str | None]
"""A topic's name by its id."""

# Where a request has its parts, and its answer what became of them.
_PATHS: Mapping[str, Sequence[tuple[str, str]]] = {
    "AddPartitionsToTxn": (
        (
            "transactions.topics.partitions",
            "results_by_transaction.topic_results.results_by_partition",
        ),
        ("v3_and_below_topics.partitions", "results_by_topic_v3_and_below.results_by_partition"),
    ),
    "AlterClientQuotas": (("entries", "entries"),),
    "AlterConfigs": (("resources", "responses"),),
    "AlterUserScramCredentials": (("deletions", "results"), ("upsertions", "results")),
    "AlterPartitionReassignments": (("topics.partitions", "responses.partitions"),),
    "ConsumerGroupDescribe": (("group_ids", "groups"),),
    "CreateAcls": (("creations", "results"),),
    "CreatePartitions": (("topics", "results"),),
    "CreateTopics": (("topics", "topics"),),
    "DeleteAcls": (("filters", "filter_results"),),
    "DeleteGroups": (("groups_names", "results"),),
    "DeleteRecords": (("topics.partitions", "topics.partitions"),),
    "DeleteTopics": (("topics", "responses"), ("topic_names", "responses")),
    "DescribeConfigs": (("resources", "results"),),
    "DescribeGroups": (("groups", "groups"),),
    "DescribeProducers": (("topics.partition_indexes", "topics.partitions"),),
    "DescribeTopicPartitions": (("topics", "topics"),),
    "DescribeTransactions": (("transactional_ids", "transaction_states"),),
    "ElectLeaders": (("topic_partitions.partitions", "replica_election_results.partition_result"),),
    "Fetch": (("topics.partitions", "responses.partitions"),),
    "FindCoordinator": (("coordinator_keys", "coordinators"),),
    "IncrementalAlterConfigs": (("resources", "responses"),),
    "ListOffsets": (("topics.partitions", "topics.partitions"),),
    "Metadata": (("topics", "topics"),),
    "OffsetCommit": (("topics.partitions", "topics.partitions"),),
    "OffsetDelete": (("topics.partitions", "topics.partitions"),),
    "OffsetFetch": (
        ("groups.topics.partition_indexes", "groups.topics.partitions"),
        ("topics.partition_indexes", "topics.partitions"),
    ),
    "OffsetForLeaderEpoch": (("topics.partitions", "topics.partitions"),),
    "Produce": (("topic_data.partition_data", "responses.partition_responses"),),
    "ShareAcknowledge": (("topics.partitions", "responses.partitions"),),
    "ShareFetch": (("topics.partitions", "responses.partitions"),),
    "ShareGroupDescribe": (("group_ids", "groups"),),
    "StreamsGroupDescribe": (("group_ids", "groups"),),
    "TxnOffsetCommit": (("topics.partitions", "topics.partitions"),),
    "WriteTxnMarkers": (("markers.topics.partition_indexes", "markers.topics.partitions"),),
}
_GROUPS_OF_OFFSETS = ("groups",)

# What Kafka says beside an error, where that is not the field's default.
_PART_VALUES: Mapping[str, Mapping[str, Any]] = {
    "DeleteRecords": {"low_watermark": -1},
    "Fetch": {"high_watermark": -1, "records": b""},
    "FindCoordinator": {"node_id": -1, "port": -1},
    "OffsetFetch": {"committed_offset": -1, "metadata": ""},
    "Produce": {"base_offset": -1},
}
_TOP_VALUES: Mapping[str, Mapping[str, Any]] = {
    "FindCoordinator": {"node_id": -1, "port": -1},
    "InitProducerId": {"producer_id": -1, "producer_epoch": -1},
    "JoinGroup": {"generation_id": -1},
}
# Errors of the whole answer, where partitions have errors of their own.
_WHOLE_ANSWER: Mapping[str, frozenset[int]] = {
    "Fetch": frozenset(
        {
            ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
            ErrorCode.INVALID_FETCH_SESSION_EPOCH,
            ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
        }
    ),
    "Metadata": frozenset({ErrorCode.REBOOTSTRAP_REQUIRED}),
    "ShareFetch": frozenset(
        {
            ErrorCode.SHARE_SESSION_NOT_FOUND,
            ErrorCode.INVALID_SHARE_SESSION_EPOCH,
            ErrorCode.SHARE_SESSION_LIMIT_REACHED,
            ErrorCode.GROUP_AUTHORIZATION_FAILED,
            ErrorCode.INVALID_REQUEST,
            ErrorCode.UNSUPPORTED_VERSION,
        }
    ),
}
# They are asked all the same, at once: an answer is only partly an error's, and nothing is changed by asking.
OVERLAID = frozenset({"Fetch", "Metadata", "ShareFetch"})
_PER_PART_FIRST = frozenset({"AddPartitionsToTxn", "Fetch", "Metadata", "ShareFetch", "ShareAcknowledge"})


def parts_of(request: Request[Any], topic_name: TopicName) -> Iterator[RequestPart]:
    """What a request is about, part by part; one part that says as much as is known where it has none."""
    whole = _whole_part(request)
    paths = _paths_of(request)
    if paths is None:
        yield whole
        return
    found = False
    for part in _leaves(request, paths[0], whole, request, topic_name):
        found = True
        yield part
    if not found:
        # A request about everything, as Metadata of all topics, or groups without partitions.
        groups = [
            each.group_id for each in getattr(request, "groups", None) or () if hasattr(each, "group_id")
        ]
        for group in groups or [whole.group]:
            yield RequestPart(group=group, transactional_id=whole.transactional_id)


def _whole_part(request: Any) -> RequestPart:
    if request.NAME == "FindCoordinator" and request.key:
        return _of_coordinator(request.key, request.key_type)
    transactional_id = getattr(request, "transactional_id", None) or getattr(
        request, "v3_and_below_transactional_id", None
    )
    return RequestPart(
        group=getattr(request, "group_id", None) or None, transactional_id=transactional_id or None
    )


def _paths_of(request: Request[Any], *, is_about_topics: bool = True) -> tuple[Path, Path] | None:
    """The request's path and the answer's, by which of the versions' fields the request uses."""
    for asked, answered in _PATHS.get(request.NAME, ()):
        asked_path, answered_path = tuple(asked.split(".")), tuple(answered.split("."))
        if getattr(request, asked_path[0], None):
            if request.NAME == "OffsetFetch" and len(asked_path) > 2 and not is_about_topics:
                return _GROUPS_OF_OFFSETS, _GROUPS_OF_OFFSETS
            return asked_path, answered_path
    return None


def _described(part: RequestPart, item: Any, request: Request[Any], topic_name: TopicName) -> RequestPart:
    """What is known of an item within `part`."""
    if isinstance(item, int):
        return RequestPart(part.topic, item, part.group, part.transactional_id)
    if isinstance(item, str):
        if request.NAME == "DeleteTopics":
            return RequestPart(topic=item)
        if request.NAME == "FindCoordinator":
            return _of_coordinator(item, cast("Any", request).key_type)
        return (
            RequestPart(transactional_id=item)
            if request.NAME == "DescribeTransactions"
            else RequestPart(group=item)
        )
    topic, partition = part.topic, part.partition
    topic_id = getattr(item, "topic_id", ZERO_UUID)
    if topic_id != ZERO_UUID:
        topic = topic_name(topic_id) or str(topic_id)
    else:
        topic = next((value for name in TOPIC_FIELDS if (value := getattr(item, name, None))), topic)
    if hasattr(item, "resource_name"):
        topic = item.resource_name if item.resource_type == TOPIC_RESOURCE else None
    partition = next(
        (value for name in PARTITION_FIELDS if (value := getattr(item, name, None)) is not None), partition
    )
    group = getattr(item, "group_id", None) or part.group
    return RequestPart(
        topic, partition, group, getattr(item, "transactional_id", None) or part.transactional_id
    )


def _of_coordinator(key: str, key_type: int) -> RequestPart:
    if key_type == OF_TRANSACTIONS:
        return RequestPart(transactional_id=key)
    # KIP-932: share-partitions have coordinators of their own, with the group as the first part of the key.
    return RequestPart(group=key.partition(":")[0] if key_type == OF_SHARE_PARTITIONS else key)


def _leaves(
    owner: Any, path: Path, part: RequestPart, request: Request[Any], topic_name: TopicName
) -> Iterator[RequestPart]:
    for item in getattr(owner, path[0]) or ():
        described = _described(part, item, request, topic_name)
        if len(path) == 1 or not getattr(item, path[1]):
            yield described
        else:
            yield from _leaves(item, path[1:], described, request, topic_name)


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """An error as it is to be told: in parts of the answer that `accepts` chooses, or at its top."""

    code: int
    message: str | None = None
    at_top: bool | None = None
    is_about_topics: bool = False
    """Whether only some topics, partitions or groups are meant."""

    def split(
        self, request: Request[Any], version: int, accepts: Accepts, topic_name: TopicName
    ) -> tuple[Request[Any] | None, Response | None]:
        """What the broker is to be asked yet, if anything, and what the error's part of the answer is.

        Both None: the answer has no room for an error.
        """
        if isinstance(request, AlterUserScramCredentialsRequest):
            request = _with_one_list(request)
        paths = _paths_of(request, is_about_topics=self.is_about_topics)
        if self._is_at_top(request, has_parts=paths is not None):
            return None, self._whole(request, version)
        if paths is None:
            return None, None
        part = _whole_part(request)
        failed = request.RESPONSE()
        if hasattr(failed, "error_message"):
            cast("Any", failed).error_message = None
        tree = self._tree(request, request.RESPONSE, paths, part, accepts, topic_name, request)
        setattr(failed, paths[1][0], tree)
        if request.NAME in OVERLAID:
            return _asked_at_once(request), failed
        return _rest(request, paths[0], part, accepts, request, topic_name), failed

    def _is_at_top(self, request: Request[Any], *, has_parts: bool) -> bool:
        if "error_code" not in request.RESPONSE.field_specifiers:
            return False
        if not has_parts:
            return True
        if self.at_top is not None:
            return self.at_top
        if request.NAME in _PER_PART_FIRST:
            return self.code in _WHOLE_ANSWER.get(request.NAME, ())
        return not self.is_about_topics and not _is_ignored_at_top(request)

    def _whole(self, request: Request[Any], version: int) -> Response:
        failed = request.RESPONSE()
        failed.error_code = self.code
        if hasattr(failed, "error_message"):
            failed.error_message = self.message
        for name, value in _TOP_VALUES.get(request.NAME, {}).items():
            setattr(failed, name, value)
        if request.NAME == "JoinGroup":
            failed.member_id = getattr(request, "member_id", "")
            failed.protocol_name = None if version >= NULL_PROTOCOL_VERSION else ""
        return failed

    def _tree(
        self,
        owner: Any,
        answer_type: type[Any],
        paths: tuple[Path, Path],
        part: RequestPart,
        accepts: Accepts,
        topic_name: TopicName,
        request: Request[Any],
    ) -> list[Struct]:
        asked, answered = paths
        schema = next(field.wire for field in fields_of(answer_type) if field.name == answered[0])
        made_type: type[Any] = getattr(request.RESPONSE, schema.element_type)
        made: list[Struct] = []
        for item in getattr(owner, asked[0]) or ():
            described = _described(part, item, request, topic_name)
            each = _answer_to(made_type, item)
            if len(asked) > 1:
                rest = asked[1:], answered[1:]
                inner = self._tree(item, made_type, rest, described, accepts, topic_name, request)
                if inner:
                    setattr(each, answered[1], inner)
                    made.append(each)
            elif accepts(described):
                self._fail(each, request.NAME)
                made.append(each)
        return made

    def _fail(self, part: Any, api: str) -> None:
        fields = _fields(part)
        name = next(name for name in ERROR_FIELDS if name in fields)
        setattr(part, name, self.code)
        if "error_message" in fields:
            part.error_message = "" if self.message is None and api == "DescribeConfigs" else self.message
        for name, value in _PART_VALUES.get(api, {}).items():
            if name in fields:
                setattr(part, name, value)
        if api == "DescribeGroups" and self.code == ErrorCode.GROUP_ID_NOT_FOUND:
            part.group_state = "Dead"


def _with_one_list(request: AlterUserScramCredentialsRequest) -> AlterUserScramCredentialsRequest:
    """Users that are set and removed have the same list in the answer."""
    users: list[Any] = [*request.deletions, *request.upsertions]
    return AlterUserScramCredentialsRequest(deletions=users)


def _is_ignored_at_top(request: Request[Any]) -> bool:
    """OffsetFetch has the error at its top only in versions before groups, FindCoordinator before keys."""
    return bool(getattr(request, "groups", None)) or bool(getattr(request, "coordinator_keys", None))


def _answer_to(made_type: type[Any], item: Any) -> Any:
    fields = made_type.field_specifiers
    if isinstance(item, int):
        return made_type(**{_first(PARTITION_FIELDS, fields): item})
    if isinstance(item, str):
        return made_type(**{_first(TEXT_KEYS, fields): item})
    made = made_type()
    for names in (
        PARTITION_FIELDS,
        TOPIC_FIELDS,
        ("user", "name"),
        ("topic_id",),
        *((name,) for name in OTHER_KEYS),
    ):
        source = next((name for name in names if hasattr(item, name)), None)
        target = next((name for name in names if name in fields), None)
        if source is not None and target is not None:
            setattr(made, target, getattr(item, source))
    return made


def _fields(struct: Struct) -> Mapping[str, Any]:
    return type(struct).field_specifiers


def _first(names: Sequence[str], fields: Mapping[str, Any]) -> str:
    return next(name for name in names if name in fields)


def _asked_at_once(request: Request[Any]) -> Request[Any]:
    asked = copy(request)
    if hasattr(asked, "max_wait_ms"):
        cast("Any", asked).max_wait_ms = 0
    return asked


def _rest(
    owner: Any, path: Path, part: RequestPart, accepts: Accepts, request: Request[Any], topic_name: TopicName
) -> Any:
    """A copy without what is accepted; None if nothing is left."""
    left: list[Any] = []
    for item in getattr(owner, path[0]) or ():
        described = _described(part, item, request, topic_name)
        if len(path) > 1:
            kept = _rest(item, path[1:], described, accepts, request, topic_name)
            if kept is not None:
                left.append(kept)
        elif not accepts(described):
            left.append(item)
    if not left:
        return None
    rest = copy(owner)
    setattr(rest, path[0], left)
    return rest


def overlay(answer: Response, failed: Response, request: Request[Any], *, is_about_topics: bool) -> None:
    """Puts the parts of `failed` into the answer, in the place of what it says of them."""
    paths = _paths_of(request, is_about_topics=is_about_topics)
    if paths is not None:
        _overlay(answer, failed, paths[1])


def _overlay(answer: Any, failed: Any, path: Path) -> None:
    there: list[Any] = list(getattr(answer, path[0]) or ())
    for each in getattr(failed, path[0]):
        place = next((number for number, other in enumerate(there) if is_same(each, other)), None)
        if place is None:
            there.append(each)
        elif len(path) == 1:
            there[place] = each
        else:
            _overlay(there[place], each, path[1:])
    setattr(answer, path[0], there)


def is_same(one: Any, other: Any) -> bool:
    """Whether both are about the same partition, topic, group or resource."""
    ids = getattr(one, "topic_id", ZERO_UUID), getattr(other, "topic_id", ZERO_UUID)
    fields = _fields(one)
    has_ids = ZERO_UUID not in ids
    if has_ids and ids[0] != ids[1]:
        return False
    names = (*PARTITION_FIELDS, *(() if has_ids else TOPIC_FIELDS), *OTHER_KEYS)
    return all(getattr(one, name) == getattr(other, name) for name in names if name in fields)
