"""One file for each API, opening with its versions and behaviour. `HANDLERS` has them all by API key,
`offered_versions` what of them is offered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barnabas.broker.handlers.api import Handler
from barnabas.broker.handlers.cluster import (
    alter_replica_log_dirs,
    api_versions,
    describe_cluster,
    describe_log_dirs,
    describe_quorum,
    metadata,
    unregister_broker,
    update_features,
)
from barnabas.broker.handlers.configs import (
    alter_configs,
    describe_configs,
    incremental_alter_configs,
    list_config_resources,
)
from barnabas.broker.handlers.groups import (
    consumer_group_describe,
    consumer_group_heartbeat,
    delete_groups,
    describe_groups,
    find_coordinator,
    heartbeat,
    join_group,
    leave_group,
    list_groups,
    offset_commit,
    offset_delete,
    offset_fetch,
    sync_group,
)
from barnabas.broker.handlers.quotas import alter_client_quotas, describe_client_quotas
from barnabas.broker.handlers.records import (
    fetch,
    list_offsets,
    offset_for_leader_epoch,
    produce,
)
from barnabas.broker.handlers.security import (
    alter_user_scram_credentials,
    create_acls,
    create_delegation_token,
    delete_acls,
    describe_acls,
    describe_delegation_token,
    describe_user_scram_credentials,
    expire_delegation_token,
    renew_delegation_token,
    sasl_authenticate,
    sasl_handshake,
)
from barnabas.broker.handlers.share_groups import (
    alter_share_group_offsets,
    delete_share_group_offsets,
    describe_share_group_offsets,
    share_acknowledge,
    share_fetch,
    share_group_describe,
    share_group_heartbeat,
)
from barnabas.broker.handlers.streams_groups import streams_group_describe, streams_group_heartbeat
from barnabas.broker.handlers.telemetry import get_telemetry_subscriptions, push_telemetry
from barnabas.broker.handlers.topics import (
    alter_partition_reassignments,
    create_partitions,
    create_topics,
    delete_records,
    delete_topics,
    describe_topic_partitions,
    elect_leaders,
    list_partition_reassignments,
)
from barnabas.broker.handlers.transactions import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    describe_producers,
    describe_transactions,
    end_txn,
    init_producer_id,
    list_transactions,
    txn_offset_commit,
    write_txn_markers,
)
from barnabas.broker.older_release import Release

_MODULES = (
    add_offsets_to_txn,
    add_partitions_to_txn,
    alter_client_quotas,
    alter_configs,
    alter_partition_reassignments,
    alter_replica_log_dirs,
    alter_share_group_offsets,
    alter_user_scram_credentials,
    api_versions,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_acls,
    create_delegation_token,
    create_partitions,
    create_topics,
    delete_acls,
    delete_groups,
    delete_records,
    delete_share_group_offsets,
    delete_topics,
    describe_acls,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_delegation_token,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_quorum,
    describe_share_group_offsets,
    describe_topic_partitions,
    describe_transactions,
    describe_user_scram_credentials,
    elect_leaders,
    end_txn,
    expire_delegation_token,
    fetch,
    find_coordinator,
    get_telemetry_subscriptions,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_config_resources,
    list_groups,
    list_offsets,
    list_partition_reassignments,
    list_transactions,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    push_telemetry,
    renew_delegation_token,
    sasl_authenticate,
    sasl_handshake,
    share_acknowledge,
    share_fetch,
    share_group_describe,
    share_group_heartbeat,
    streams_group_describe,
    streams_group_heartbeat,
    sync_group,
    txn_offset_commit,
    unregister_broker,
    update_features,
    write_txn_markers,
)


def _all_handlers() -> dict[int, Handler[Any]]:
    return {module.HANDLER.request_type.API_KEY: module.HANDLER for module in _MODULES}


HANDLERS: Mapping[int, Handler[Any]] = _all_handlers()


def offered_versions(release: Release | None = None) -> dict[int, tuple[int, int]]:
    """By API key the lowest and highest version that the broker answers, which may pass for a release."""
    offered: dict[int, tuple[int, int]] = {}
    for api_key, handler in HANDLERS.items():
        lowest, highest = handler.lowest, handler.highest
        if release is not None:
            first, last = release.versions(api_key)
            lowest, highest = max(handler.oldest, first), min(highest, last)
        if lowest <= highest:
            offered[api_key] = (lowest, highest)
    return offered
