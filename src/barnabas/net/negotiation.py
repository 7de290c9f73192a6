"""Which versions of each API a broker speaks: the first question on every connection (KIP-35, KIP-511)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas._kernel import VERSION
from barnabas.errors import BrokenProtocolError
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

if TYPE_CHECKING:
    from barnabas.net.carrier import Carrier

SOFTWARE_NAME = "barnabas"
UNSUPPORTED_VERSION = 35


async def negotiate_versions(carrier: Carrier) -> ApiVersionsResponse:
    """Raises: BrokenProtocolError, KafkaConnectionError, KafkaTimeoutError."""
    version = ApiVersionsRequest.VERSIONS[1]
    response = await _ask(carrier, version)
    if response.error_code == UNSUPPORTED_VERSION:
        # KIP-511: the answer tells, in version 0, what the broker does speak; old ones name nothing.
        spoken = {key.api_key: key.max_version for key in response.api_keys}
        version = min(version - 1, spoken.get(ApiVersionsRequest.API_KEY, 0))
        response = await _ask(carrier, version)
    if response.error_code:
        raise BrokenProtocolError(f"{carrier.name} refused ApiVersions with code {response.error_code}")
    return response


async def _ask(carrier: Carrier, version: int) -> ApiVersionsResponse:
    request = ApiVersionsRequest()
    if version >= 3:
        request.client_software_name = SOFTWARE_NAME
        request.client_software_version = VERSION
    return await carrier.ask(request, version)
