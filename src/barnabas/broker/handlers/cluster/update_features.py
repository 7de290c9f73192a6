"""UpdateFeatures, versions 0 to 2: raises or lowers the levels of features (KIP-584, KIP-778).

All updates of a request hold, or none. Lowering needs leave: allow_downgrade in version 0, else an upgrade
type of 2 or 3. Versions 0 and 1 have a result for each feature.
"""

from __future__ import annotations

from barnabas.broker.cluster import Cluster
from barnabas.broker.features import FEATURES
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker_errors import FeatureUpdateFailedError, InvalidRequestError, InvalidUpdateVersionError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
Update = UpdateFeaturesRequest.FeatureUpdateKey
Result = UpdateFeaturesResponse.UpdatableFeatureResult


async def handle(call: Call, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    cluster = call.parts.cluster
    try:
        levels = _checked(cluster, request, call.version)
        if not request.validate_only:
            cluster.change_features(levels)
    except BrokerError as error:
        return UpdateFeaturesResponse(error_code=error.code, error_message=error.context or None)
    results = [Result(update.feature, error_message=None) for update in request.feature_updates]
    return UpdateFeaturesResponse(error_message=None, results=results)


def _checked(cluster: Cluster, request: UpdateFeaturesRequest, version: int) -> dict[str, int]:
    levels: dict[str, int] = {}
    for update in request.feature_updates:
        if update.feature in levels:
            raise InvalidRequestError(f"feature {update.feature} is in the request more than once")
        feature = FEATURES.get(update.feature)
        if feature is None or not feature.lowest <= update.max_version_level <= feature.highest:
            raise InvalidUpdateVersionError(
                f"Invalid update version {update.max_version_level} for feature {update.feature}."
            )
        current = cluster.feature_levels()[update.feature]
        may_lower = update.allow_downgrade if version == 0 else update.upgrade_type > UPGRADE
        if update.upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
            raise InvalidRequestError(f"upgrade type {update.upgrade_type} is not known")
        if update.max_version_level < current and not may_lower:
            raise InvalidUpdateVersionError(
                f"feature {update.feature} is at level {current}; going down to {update.max_version_level} "
                "has to be asked for as a downgrade"
            )
        if update.max_version_level > current and may_lower:
            raise FeatureUpdateFailedError(
                f"feature {update.feature} is at level {current}: {update.max_version_level} is no downgrade"
            )
        levels[update.feature] = update.max_version_level
    return levels


HANDLER = Handler(UpdateFeaturesRequest, 0, 2, handle)
