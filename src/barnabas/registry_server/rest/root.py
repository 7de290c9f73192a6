"""/ and /v1/metadata: that the registry is there, and which one it is."""

from __future__ import annotations

from barnabas.registry_server.rest.answers import RestAnswer, json_answer
from barnabas.registry_server.rest.call import RestCall
from barnabas.registry_server.service import RegistryService

API_VERSION = "8.3.1"
"""The release of the original whose API this is. Clients go by it."""


async def root(service: RegistryService, call: RestCall) -> RestAnswer:
    return json_answer({})


async def cluster_id(service: RegistryService, call: RestCall) -> RestAnswer:
    clusters = {"kafka-cluster": service.cluster_id, "schema-registry-cluster": service.group_id}
    return json_answer({"scope": {"path": [], "clusters": clusters}, "id": ""})


async def version(service: RegistryService, call: RestCall) -> RestAnswer:
    return json_answer({"version": API_VERSION, "commitId": "barnabas"})


async def deployment(service: RegistryService, call: RestCall) -> RestAnswer:
    return json_answer({"attributes": list(service.deployment_attributes)})
