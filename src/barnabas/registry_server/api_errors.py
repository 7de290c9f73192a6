"""What the API answers with where it does not do what it is asked for: HTTP's status, the registry's code,
and the original's words.

Knows nothing of when.
"""

from __future__ import annotations


class ApiError(Exception):
    def __init__(self, status: int, error_code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.error_code = error_code


def subject_not_found(subject: str) -> ApiError:
    return ApiError(404, 40401, f"Subject '{subject}' not found.")


def version_not_found(version: int) -> ApiError:
    return ApiError(404, 40402, f"Version {version} not found.")


def schema_not_found(which: int | str | None = None) -> ApiError:
    return ApiError(404, 40403, "Schema not found" if which is None else f"Schema {which} not found")


def subject_soft_deleted(subject: str) -> ApiError:
    return ApiError(
        404, 40404, f"Subject '{subject}' was soft deleted.Set permanent=true to delete permanently"
    )


def subject_not_soft_deleted(subject: str) -> ApiError:
    return ApiError(404, 40405, f"Subject '{subject}' was not deleted first before being permanently deleted")


def version_soft_deleted(subject: str, version: int) -> ApiError:
    return ApiError(
        404,
        40406,
        f"Subject '{subject}' Version {version} was soft deleted.Set permanent=true to delete permanently",
    )


def version_not_soft_deleted(subject: str, version: int) -> ApiError:
    return ApiError(
        404,
        40407,
        f"Subject '{subject}' Version {version} was not deleted first before being permanently deleted",
    )


def no_subject_compatibility(subject: str) -> ApiError:
    return ApiError(404, 40408, f"Subject '{subject}' does not have subject-level compatibility configured")


def no_subject_mode(subject: str | None) -> ApiError:
    return ApiError(404, 40409, f"Subject '{subject}' does not have subject-level mode configured")


def association_not_found(resource_id: str) -> ApiError:
    return ApiError(404, 40410, f"Association for '{resource_id}' not found.")


def resource_has_association(association_type: str, resource_name: str) -> ApiError:
    return ApiError(
        409,
        40903,
        f"An association of type '{association_type}' already exists for resource '{resource_name}'",
    )


def subject_has_association(subject: str) -> ApiError:
    return ApiError(409, 40904, f"An association already exists for subject '{subject}'")


def subject_has_strong_association(subject: str) -> ApiError:
    return ApiError(409, 40905, f"A strong association already exists for subject '{subject}'")


def no_active_version(subject: str) -> ApiError:
    return ApiError(409, 40907, f"No active (non-deleted) version exists for subject '{subject}'")


def association_frozen(association_type: str, subject: str) -> ApiError:
    return ApiError(
        409, 40908, f"The association of type  '{association_type}' is frozen for subject '{subject}'"
    )


def incompatible(subject: str, messages: list[str]) -> ApiError:
    return ApiError(
        409,
        409,
        f'Schema being registered is incompatible with an earlier schema for subject "{subject}", details: '
        f"[{', '.join(messages)}]",
    )


def unprocessable(message: str) -> ApiError:
    """Of a body that is not what the call takes."""
    return ApiError(422, 422, message)


def invalid_schema(message: str) -> ApiError:
    return ApiError(422, 42201, message)


def invalid_version(version: str) -> ApiError:
    return ApiError(
        422,
        42202,
        f"The specified version '{version}' is not a valid version id. Allowed values are between "
        '[1, 2^31-1] and the string "latest"',
    )


def invalid_compatibility() -> ApiError:
    return ApiError(
        422,
        42203,
        "Invalid compatibility level. Valid values are none, backward, forward, full, "
        "backward_transitive, forward_transitive, and full_transitive",
    )


def invalid_mode(
    message: str = "Invalid mode. Valid values are READWRITE, READONLY, IMPORT and FORWARD.",
) -> ApiError:
    return ApiError(422, 42204, message)


def not_permitted(message: str) -> ApiError:
    return ApiError(422, 42205, message)


def reference_exists(key: str) -> ApiError:
    return ApiError(422, 42206, f"One or more references exist to the schema {key}.")


def invalid_subject(subject: str) -> ApiError:
    return ApiError(422, 42208, f"The specified subject '{subject}' is not a valid.")


def schema_too_large() -> ApiError:
    return ApiError(422, 42209, "Register operation failed because schema is too large")


def invalid_rule_set(message: str) -> ApiError:
    return ApiError(422, 42210, message)


def context_not_empty(context: str) -> ApiError:
    return ApiError(422, 42211, f"The specified context '{context}' is not empty.")


def invalid_association(field: str, detail: str) -> ApiError:
    return ApiError(
        422, 42212, f"The association specified an invalid value for property: '{field}', detail: {detail}"
    )


def store_failed(message: str) -> ApiError:
    return ApiError(500, 50001, message)


def timed_out(message: str) -> ApiError:
    return ApiError(500, 50002, message)


def forwarding_failed(message: str) -> ApiError:
    return ApiError(500, 50003, message)


def too_busy() -> ApiError:
    return ApiError(503, 503, "the registry has too many schemas to look at already; try again later")


def leader_unknown(message: str) -> ApiError:
    return ApiError(500, 50004, message)
