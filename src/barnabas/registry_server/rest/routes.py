"""Which function answers which method and path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from barnabas.registry_server.api_errors import ApiError
from barnabas.registry_server.rest import (
    association_batches,
    associations,
    compatibility,
    config,
    contexts,
    deks,
    mode,
    root,
    schemas,
    versions,
)
from barnabas.registry_server.rest import subjects as subjects_resource
from barnabas.registry_server.rest.answers import RestAnswer
from barnabas.registry_server.rest.call import RestCall, not_found
from barnabas.values import frozen

Handler = Callable[..., Awaitable[RestAnswer]]
"""`handler(service, call, *what stands for the names in braces)`."""


@frozen
class Route:
    """`failed`: what is said where the journal does not take a write."""

    method: str
    path: str
    handler: Handler
    failed: str = ""

    def arguments(self, segments: Sequence[str]) -> list[str] | None:
        """What stands for the names in braces; None for another path."""
        wanted = self.path.split("/")[1:] if self.path != "/" else []
        if len(wanted) != len(segments):
            return None
        found: list[str] = []
        for name, each in zip(wanted, segments, strict=True):
            if name.startswith("{"):
                found.append(each)
            elif name != each:
                return None
        return found


REGISTERING = "Register schema operation failed while writing to the Kafka store"
CONFIG = "Failed to update compatibility level"
MODE = "Failed to update mode"
VERSION = "/subjects/{subject}/versions/{version}"
CHECK = "/compatibility/subjects/{subject}/versions"
CREATING_KEY = "Error while creating key"
DELETING_KEY = "Error while deleting key"
UNDELETING_KEY = "Error while undeleting key"
KEKS = "/dek-registry/v1/keks"
KEK = KEKS + "/{name}"
DEK = KEK + "/deks/{subject}"
DEK_VERSION = DEK + "/versions/{version}"
ASSOCIATED = "/associations/resources/{resource_id}"

ROUTES: Sequence[Route] = (
    Route("GET", "/", root.root),
    Route("POST", "/", root.root),
    Route("GET", "/subjects", subjects_resource.list_subjects),
    Route("POST", "/subjects/{subject}", subjects_resource.look_up),
    Route("DELETE", "/subjects/{subject}", subjects_resource.delete, "Error while deleting the subject"),
    Route("GET", "/subjects/{subject}/metadata", subjects_resource.latest_with_metadata),
    Route("GET", "/subjects/{subject}/versions", versions.list_versions),
    Route("POST", "/subjects/{subject}/versions", versions.register, REGISTERING),
    Route("GET", VERSION, versions.get),
    Route(
        "DELETE",
        VERSION,
        versions.delete,
        "Delete Schema Version operation failed while writing to the Kafka store",
    ),
    Route("GET", VERSION + "/schema", versions.get_text),
    Route("GET", VERSION + "/referencedby", versions.referenced_by),
    Route("POST", VERSION + "/tags", versions.change_tags, REGISTERING),
    Route("GET", "/schemas", schemas.list_schemas),
    Route("GET", "/schemas/types", schemas.types),
    Route("GET", "/schemas/ids/{id}", schemas.by_id),
    Route("GET", "/schemas/ids/{id}/schema", schemas.text_by_id),
    Route("GET", "/schemas/ids/{id}/subjects", schemas.subjects_of),
    Route("GET", "/schemas/ids/{id}/versions", schemas.versions_of),
    Route("GET", "/schemas/guids/{guid}", schemas.by_guid),
    Route("GET", "/schemas/guids/{guid}/ids", schemas.ids_of),
    Route("POST", CHECK, compatibility.check_all),
    Route("POST", CHECK + "/{version}", compatibility.check_one),
    Route("GET", "/config", config.get),
    Route("PUT", "/config", config.update, CONFIG),
    Route("DELETE", "/config", config.delete, "Failed to delete compatibility level"),
    Route("GET", "/config/{subject}", config.get),
    Route("PUT", "/config/{subject}", config.update, CONFIG),
    Route("DELETE", "/config/{subject}", config.delete, "Failed to delete compatibility level"),
    Route("GET", "/mode", mode.get),
    Route("PUT", "/mode", mode.update, MODE),
    Route("DELETE", "/mode", mode.delete, "Failed to delete mode"),
    Route("GET", "/mode/{subject}", mode.get),
    Route("PUT", "/mode/{subject}", mode.update, MODE),
    Route("DELETE", "/mode/{subject}", mode.delete, "Failed to delete mode"),
    Route("GET", "/contexts", contexts.list_contexts),
    Route("DELETE", "/contexts/{context}", contexts.delete, "Error while deleting context"),
    Route("POST", "/associations", associations.create, REGISTERING),
    Route("GET", "/associations/subjects/{subject}", associations.of_subject),
    Route("GET", ASSOCIATED, associations.of_resource),
    Route("PUT", ASSOCIATED, associations.update, REGISTERING),
    Route("DELETE", ASSOCIATED, associations.delete, "Error while deleting the associations"),
    Route("GET", "/associations/resources/{namespace}/{name}", associations.of_name),
    Route("POST", "/associations:batchGet", association_batches.get),
    Route("POST", "/associations:batchMutate", association_batches.mutate, REGISTERING),
    Route("GET", KEKS, deks.list_keks),
    Route("POST", KEKS, deks.create_kek, CREATING_KEY),
    Route("GET", KEK, deks.get_kek),
    Route("PUT", KEK, deks.update_kek, "Error while updating key"),
    Route("DELETE", KEK, deks.delete_kek, DELETING_KEY),
    Route("POST", KEK + "/undelete", deks.undelete_kek, UNDELETING_KEY),
    Route("POST", KEK + "/test", deks.test_kek),
    Route("GET", KEK + "/deks", deks.list_subjects),
    Route("POST", KEK + "/deks", deks.create_dek, CREATING_KEY),
    Route("GET", DEK, deks.get_dek),
    Route("POST", DEK, deks.create_dek, CREATING_KEY),
    Route("DELETE", DEK, deks.delete_deks, DELETING_KEY),
    Route("POST", DEK + "/undelete", deks.undelete_deks, UNDELETING_KEY),
    Route("GET", DEK + "/versions", deks.list_versions),
    Route("GET", DEK_VERSION, deks.get_dek),
    Route("DELETE", DEK_VERSION, deks.delete_deks, DELETING_KEY),
    Route("POST", DEK_VERSION + "/undelete", deks.undelete_deks, UNDELETING_KEY),
    Route("GET", "/v1/metadata/id", root.cluster_id),
    Route("GET", "/v1/metadata/version", root.version),
    Route("GET", "/v1/metadata/deployment", root.deployment),
)


def found(call: RestCall, routes: Sequence[Route] = ROUTES) -> tuple[Route, list[str]]:
    """Raises: ApiError."""
    asked = "GET" if call.method == "HEAD" else call.method
    is_path = False
    for route in routes:
        arguments = route.arguments(call.segments)
        if arguments is not None:
            is_path = True
            if route.method == asked:
                return route, arguments
    if is_path:
        raise ApiError(405, 405, "HTTP 405 Method Not Allowed")
    raise not_found()


def methods(call: RestCall, routes: Sequence[Route] = ROUTES) -> list[str]:
    """What may be asked of a path. Raises: ApiError."""
    allowed = [route.method for route in routes if route.arguments(call.segments) is not None]
    if not allowed:
        raise not_found()
    return sorted({*allowed, "OPTIONS", *(["HEAD"] if "GET" in allowed else [])})
