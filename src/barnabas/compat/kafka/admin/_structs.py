"""The calls of KafkaAdminClient as kafka-python 2 answers: most of them with structs of Kafka's protocol, in
the version that it asks for."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any

from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka.admin._acls import acl_of, check_acls, check_filters, operation_names
from barnabas.compat.kafka.admin._configs import ConfigResourceType
from barnabas.compat.kafka.admin._groups import group_offsets
from barnabas.compat.kafka.admin._partitions import deleted_records
from barnabas.compat.kafka.admin._topics import spec_of
from barnabas.compat.kafka.protocol.admin.topics import ElectionType
from barnabas.compat.kafka_engine.admin import acls, cluster, configs, groups, partitions, raw, topics
from barnabas.compat.kafka_engine.admin.members import assignment_struct, metadata_struct
from barnabas.compat.kafka_engine.admin.session import BrokerAnswer, BrokerSession
from barnabas.compat.kafka_engine.admin.structs import STRUCT_VERSIONS, struct_of
from barnabas.compat.kafka_engine.values.structs import STRUCTS

_CONSUMERS = ("consumer", "")


def _struct(answer: BrokerAnswer[Any]) -> Any:
    newest = STRUCT_VERSIONS[answer.message.NAME]
    # In older versions where the broker is older; brokers that have only newer ones are asked in those.
    return struct_of(answer.message, min(answer.version, newest))


def _object(answer: BrokerAnswer[Any]) -> dict[str, Any]:
    return _struct(answer).to_object()


def _check(answer: BrokerAnswer[Any], codes: Iterable[int], ignored: tuple[int, ...] = ()) -> None:
    answer.check(codes, ignored=ignored, shape=struct_of, as_version=STRUCT_VERSIONS[answer.message.NAME])


class StructAnswers:
    """Calls about everything."""

    _session: BrokerSession
    config: dict[str, Any]

    def _validate_timeout(self, timeout_ms: float | None) -> float:
        """In milliseconds; request_timeout_ms where a call says nothing."""
        return timeout_ms or self.config["request_timeout_ms"]

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._session.run(work)

    # Any request

    def send_request(self, request: Any, node_id: int | None = None) -> Any:
        """The answer to a request of `kafka.protocol`: of a broker, or of any."""
        return self._run(raw.exchange(self._session, request, node_id))

    def send_requests(
        self,
        requests_and_node_ids: Iterable[tuple[Any, int | None]],
        response_fn: Callable[[Any], Any] = lambda x: x,
    ) -> list[Any]:
        """`response_fn` of the answer to each request. A node id of None means any broker."""
        return [
            response_fn(self.send_request(request, node_id)) for request, node_id in requests_and_node_ids
        ]

    # Topics and partitions

    def create_topics(
        self, new_topics: Iterable[Any], timeout_ms: float | None = None, validate_only: bool = False
    ) -> Any:
        """Makes topics from NewTopics. Gives a CreateTopicsResponse, whose `topic_errors` has a tuple for
        each. Raises: the error of the first that failed, such as TopicAlreadyExistsError."""
        answer = self._run(
            topics.create_topics(
                self._session,
                [spec_of(topic) for topic in new_topics],
                self._validate_timeout(timeout_ms),
                validate_only=validate_only,
                max_version=STRUCT_VERSIONS["CreateTopics"],
            )
        )
        _check(answer, [topic.error_code for topic in answer.message.topics])
        return _struct(answer)

    def delete_topics(self, topics: Iterable[str], timeout_ms: float | None = None) -> Any:
        """Deletes topics. Gives a DeleteTopicsResponse, whose `topic_error_codes` has a tuple for each.
        Raises: the error of the first that failed, such as UnknownTopicOrPartitionError."""
        answer = self._run(_delete_topics(self._session, topics, self._validate_timeout(timeout_ms)))
        _check(answer, [topic.error_code for topic in answer.message.responses])
        return _struct(answer)

    def _metadata(self, wanted: Iterable[str] | None) -> dict[str, Any]:
        answer = self._run(topics.metadata(self._session, wanted, max_version=STRUCT_VERSIONS["Metadata"]))
        described = _struct(answer).to_object()
        for each in (described, *described["topics"]):
            if "authorized_operations" in each:
                each["authorized_operations"] = operation_names(each["authorized_operations"])
        return described

    def list_topics(self) -> list[str]:
        """The names of all topics."""
        return [topic["topic"] for topic in self._metadata(None)["topics"]]

    def describe_topics(self, topics: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """What brokers tell of topics and their partitions; of all for None. One that does not exist has an
        error code."""
        return self._metadata(topics)["topics"]

    def describe_cluster(self) -> dict[str, Any]:
        """The brokers, who of them is the controller, the cluster's id, and what the caller may do with
        it."""
        described = self._metadata(None)
        described.pop("topics")
        return described

    def create_partitions(
        self,
        topic_partitions: Mapping[str, Any],
        timeout_ms: float | None = None,
        validate_only: bool = False,
    ) -> Any:
        """Gives topics more partitions: NewPartitions by topic. Gives a CreatePartitionsResponse, whose
        `topic_errors` has a tuple for each. Raises: the error of the first that failed, such as
        InvalidPartitionsError."""
        answer = self._run(
            partitions.create_partitions(
                self._session,
                {topic: (new.total_count, new.new_assignments) for topic, new in topic_partitions.items()},
                self._validate_timeout(timeout_ms),
                validate_only=validate_only,
                max_version=STRUCT_VERSIONS["CreatePartitions"],
            )
        )
        _check(answer, [topic.error_code for topic in answer.message.results])
        return _struct(answer)

    def delete_records(
        self,
        records_to_delete: Mapping[Any, int],
        timeout_ms: float | None = None,
        partition_leader_id: int | None = None,
    ) -> dict[Any, dict[str, Any]]:
        """Deletes what is before an offset of each TopicPartition; -1 is the end. Gives the answers of the
        leaders, by partition. `partition_leader_id`: who leads all of them, where a program knows. Raises:
        UnknownTopicOrPartitionError, OffsetOutOfRangeError."""
        answers = self._run(
            partitions.delete_records(
                self._session,
                records_to_delete,
                self._validate_timeout(timeout_ms),
                leader=partition_leader_id,
                max_version=STRUCT_VERSIONS["DeleteRecords"],
            )
        )
        return deleted_records(answers, _object)

    def perform_leader_election(
        self,
        election_type: int,
        topic_partitions: Mapping[str, list[int]] | None = None,
        timeout_ms: float | None = None,
    ) -> Any:
        """Has leaders elected: 0 for the preferred one, 1 for any that is there. Gives an
        ElectLeadersResponse.

        `topic_partitions`: the numbers of partitions by topic; None for all. Raises: the error of the first
        partition that failed, unless it has its leader already.
        """
        answer = self._run(
            self._election_answer(
                ElectionType(election_type), topic_partitions, self._validate_timeout(timeout_ms)
            )
        )
        _check(
            answer, partitions.election_codes(answer.message), ignored=(Errors.ElectionNotNeededError.errno,)
        )
        return _struct(answer)

    async def _election_answer(
        self, election_type: int, wanted: Mapping[str, list[int]] | None, timeout_ms: float
    ) -> Any:
        of_topics = await topics.topic_partitions(self._session, None) if wanted is None else wanted.items()
        return await partitions.elect_leaders(
            *(self._session, election_type, of_topics, timeout_ms),
            max_version=STRUCT_VERSIONS["ElectLeaders"],
        )

    # ACLs

    def describe_acls(self, acl_filter: Any) -> tuple[list[Any], Any]:
        """The ACLs that match `acl_filter`, and NoError. Raises: SecurityDisabledError where the brokers have
        no authorizer, ClusterAuthorizationFailedError."""
        answer = self._run(
            acls.describe_acls(self._session, acl_filter, max_version=STRUCT_VERSIONS["DescribeAcls"])
        )
        _check(answer, [answer.message.error_code])
        found = [
            acl_of((resource.resource_type, resource.resource_name, resource.pattern_type), entry)
            for resource in answer.message.resources
            for entry in resource.acls
        ]
        return found, Errors.NoError

    def create_acls(self, acls: list[Any]) -> dict[str, list[Any]]:
        """Makes ACLs. Gives those that it made as "succeeded", and the others with the classes of their
        errors as "failed". Raises: IllegalArgumentError for what is no ACL."""
        check_acls(acls)
        results = self._run(_create_acls(self._session, acls)).message.results
        pairs = list(zip(acls, results, strict=True))
        return {
            "succeeded": [acl for acl, result in pairs if not result.error_code],
            "failed": [
                (acl, Errors.for_code(result.error_code)) for acl, result in pairs if result.error_code
            ],
        }

    def delete_acls(self, acl_filters: list[Any]) -> list[tuple[Any, list[tuple[Any, Any]], Any]]:
        """Deletes what matches. Gives each filter with what it deleted and the class of its error, NoError
        where there is none; what was deleted likewise has a class each. Raises: IllegalArgumentError for what
        is no filter."""
        check_filters(acl_filters)
        answer = self._run(
            acls.delete_acls(self._session, acl_filters, max_version=STRUCT_VERSIONS["DeleteAcls"])
        )
        return [
            (
                acl_filter,
                [
                    (
                        acl_of((each.resource_type, each.resource_name, each.pattern_type), each),
                        Errors.for_code(each.error_code),
                    )
                    for each in result.matching_acls
                ],
                Errors.for_code(result.error_code),
            )
            for acl_filter, result in zip(acl_filters, answer.message.filter_results, strict=True)
        ]

    # Configurations

    def describe_configs(self, config_resources: Iterable[Any], include_synonyms: bool = False) -> list[Any]:
        """The entries of resources: a DescribeConfigsResponse for each broker, and one for all else. Raises:
        ValueError for a broker whose name is no number."""
        return self._run(self._config_structs(list(config_resources), include_synonyms))

    async def _config_structs(self, resources: list[Any], include_synonyms: bool) -> list[Any]:
        of_brokers = [each for each in resources if each.resource_type == ConfigResourceType.BROKER]
        others = [each for each in resources if each.resource_type != ConfigResourceType.BROKER]
        found: list[Any] = []
        for some in [*([each] for each in of_brokers), others]:
            asked = [
                (int(each.resource_type), each.name, list(each.configs) if each.configs else None)
                for each in some
            ]
            for place in configs.places_of((kind, name) for kind, name, _ in asked):
                answer = await configs.describe_configs(
                    *(self._session, asked, place),
                    include_synonyms=include_synonyms,
                    max_version=STRUCT_VERSIONS["DescribeConfigs"],
                )
                found.append(_struct(answer))
        return found

    def alter_configs(self, config_resources: Iterable[Any]) -> Any:
        """Sets entries, and gives all others of a resource their defaults again. Gives an
        AlterConfigsResponse, whose `resources` has a tuple for each. Errors are in the answer."""
        return self._run(self._replaced_configs(list(config_resources)))

    async def _replaced_configs(self, resources: list[Any]) -> Any:
        of_resource = {(int(each.resource_type), each.name): each.configs for each in resources}
        answers = [
            await configs.replace_configs(
                *(self._session, [(kind, name, of_resource[kind, name]) for kind, name in some], place),
                validate_only=False,
                max_version=STRUCT_VERSIONS["AlterConfigs"],
            )
            for place, some in configs.places_of(of_resource).items()
        ]
        merged = answers[0]
        for answer in answers[1:]:
            merged.message.responses.extend(answer.message.responses)
        return _struct(merged)

    # Groups

    def describe_consumer_groups(
        self,
        group_ids: Iterable[str],
        group_coordinator_id: int | None = None,
        include_authorized_operations: bool = False,
    ) -> list[Any]:
        """A GroupInformation of each group, with a MemberInformation of each member.

        `group_coordinator_id`: the broker that coordinates all of them, where a program knows.
        `include_authorized_operations` is not looked at: what a caller may do is always told. Raises: the
        error of the first group that has one.
        """
        answers = self._run(
            groups.describe_groups(
                *(self._session, group_ids, group_coordinator_id),
                one_by_one=True,
                max_version=STRUCT_VERSIONS["DescribeGroups"],
            )
        )
        return [_group_information(answer) for answer in answers]

    def list_consumer_groups(self, broker_ids: Iterable[int] | None = None) -> list[tuple[str, str]]:
        """The id and the type of protocol of each group that brokers coordinate; of all brokers for None."""
        answers = self._run(
            groups.list_groups(self._session, broker_ids, max_version=STRUCT_VERSIONS["ListGroups"])
        )
        found: set[tuple[str, str]] = set()
        for answer in answers:
            if answer.message.error_code:
                raise Errors.for_code(answer.message.error_code)(
                    f"ListGroupsRequest failed with response '{_struct(answer)}'."
                )
            found.update(_struct(answer).groups)
        return list(found)

    def list_consumer_group_offsets(
        self,
        group_id: str,
        group_coordinator_id: int | None = None,
        partitions: Iterable[Any] | None = None,
    ) -> dict[Any, Any]:
        """What a group has committed: an OffsetAndMetadata by TopicPartition, -1 for one that was asked for
        and has none; of all that have one for None. Raises: the error of the group or of a partition."""
        answers = self._run(
            groups.fetch_offsets(
                *(self._session, {group_id: partitions}, group_coordinator_id),
                max_version=STRUCT_VERSIONS["OffsetFetch"],
            )
        )
        [answer] = answers.values()
        return group_offsets(
            answer,
            group_id,
            (
                f"OffsetFetchResponse failed with response '{_struct(answer)}'.",
                "Unable to fetch consumer group offsets for topic {key.topic}, partition {key.partition}",
            ),
        )

    def delete_consumer_groups(
        self, group_ids: Iterable[str], group_coordinator_id: int | None = None
    ) -> list[tuple[str, Any]]:
        """Deletes groups without members, with their offsets. Gives each with the class of its error, NoError
        where there is none."""
        answers = self._run(
            groups.delete_groups(
                *(self._session, group_ids, group_coordinator_id),
                max_version=STRUCT_VERSIONS["DeleteGroups"],
            )
        )
        return [
            (result.group_id, Errors.for_code(result.error_code))
            for answer in answers
            for result in answer.message.results
        ]

    # Brokers

    def describe_log_dirs(self) -> Any:
        """The directories of a broker, and the sizes of what is in them: a DescribeLogDirsResponse."""
        return self._run(self._log_dirs_answer())

    async def _log_dirs_answer(self) -> Any:
        brokers = await self._session.nodes()
        answers = await cluster.describe_log_dirs(
            self._session, None, brokers[:1], max_version=STRUCT_VERSIONS["DescribeLogDirs"]
        )
        return _struct(answers[brokers[0]])


def _group_information(answer: BrokerAnswer[Any]) -> Any:
    described = _struct(answer)
    [(code, group_id, state, protocol_type, protocol, members, *operations)] = described.groups
    if code:
        raise Errors.for_code(code)(f"DescribeGroupsResponse failed with response '{described}'.")
    is_of_consumers = protocol_type in _CONSUMERS
    return STRUCTS["GroupInformation"](
        *(code, group_id, state, protocol_type, protocol),
        members=[
            STRUCTS["MemberInformation"](
                *(member_id, client_id, host),
                metadata_struct(metadata) if is_of_consumers and metadata else metadata,
                assignment_struct(assignment) if is_of_consumers and assignment else assignment,
            )
            for member_id, client_id, host, metadata, assignment in members
        ],
        authorized_operations=operation_names(operations[0]) if operations else [],
    )


async def _create_acls(session: BrokerSession, wanted: list[Any]) -> Any:
    return await acls.create_acls(session, wanted, max_version=STRUCT_VERSIONS["CreateAcls"])


async def _delete_topics(session: BrokerSession, wanted: Iterable[str], timeout_ms: float) -> Any:
    return await topics.delete_topics(
        session, wanted, timeout_ms, max_version=STRUCT_VERSIONS["DeleteTopics"]
    )
