"""UpdateFeatures, versions 0 to 2: raises or lowers the levels of features (KIP-584, KIP-778).

All updates of a request hold, or none. Lowering needs leave: allow_downgrade in version 0, else an upgrade
type of 2 or 3. Versions 0 and 1 have a result for each feature.
"""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation
from barnabas.broker.cluster import Cluster
from barnabas.broker.configs.broker_settings import MIN_IN_SYNC
from barnabas.broker.features import ELIGIBLE_LEADERS_VERSION, FEATURES, KRAFT_VERSION, METADATA_VERSION
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker_errors import InvalidUpdateVersionError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
Update = UpdateFeaturesRequest.FeatureUpdateKey
Result = UpdateFeaturesResponse.UpdatableFeatureResult


async def handle(call: Call, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    cluster = call.parts.cluster
    # Of two updates of a feature the last one counts.
    updates = {update.feature: update for update in request.feature_updates}
    try:
        call.parts.authorizer.require_cluster(call, Operation.ALTER)
        for update in updates.values():
            problem = _problem(cluster, update, _upgrade_type(update, call.version))
            if problem is not None:
                raise InvalidUpdateVersionError(
                    "The update failed for all features since the following feature had an error: " + problem
                )
        if not request.validate_only:
            cluster.features.change({name: update.max_version_level for name, update in updates.items()})
            call.parts.controller.features_changed()
            if cluster.features.level(ELIGIBLE_LEADERS_VERSION):
                await _hold_brokers_to_what_is_set_of_all(cluster)
    except BrokerError as error:
        return UpdateFeaturesResponse(error_code=error.code, error_message=error.context or None)
    return UpdateFeaturesResponse(
        error_message=None, results=[Result(name, error_message="NONE") for name in updates]
    )


def _upgrade_type(update: Update, version: int) -> int:
    if version > 0:
        return update.upgrade_type
    return SAFE_DOWNGRADE if update.allow_downgrade else UPGRADE


def _problem(cluster: Cluster, update: Update, upgrade_type: int) -> str | None:
    feature, level = FEATURES.get(update.feature), update.max_version_level
    refusal = f"Invalid update version {level} for feature {update.feature}. "
    if upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        return refusal + "The controller does not support the given upgrade type."
    if feature is None:
        return refusal + "Local controller 1 does not support this feature."
    if not feature.lowest <= level <= feature.highest:
        return refusal + f"Local controller 1 only supports versions {feature.lowest}-{feature.highest}"
    current = cluster.features.levels()[update.feature]
    if level < current and upgrade_type == UPGRADE:
        return refusal + (
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or "
            "unsafe downgrade."
        )
    if level > current and upgrade_type != UPGRADE:
        return refusal + "Can't downgrade to a newer version."
    if level < current and update.feature == KRAFT_VERSION:
        return refusal + "Can't downgrade the version of this feature."
    if level < current and update.feature == METADATA_VERSION:
        return (
            f"Unsupported metadata.version downgrade from {current} to {level}. Refusing to perform the "
            "requested downgrade because it might delete metadata information."
        )
    return None


async def _hold_brokers_to_what_is_set_of_all(cluster: Cluster) -> None:
    """Who is an eligible leader depends on min.insync.replicas, which no broker may then have of its own."""
    for node_id, own in cluster.settings.of_nodes.items():
        if MIN_IN_SYNC in own:
            rest = {name: value for name, value in own.items() if name != MIN_IN_SYNC}
            await cluster.change_broker_settings(node_id, rest)


HANDLER = Handler(UpdateFeaturesRequest, 0, 2, handle)
