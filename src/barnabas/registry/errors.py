"""What goes wrong with a registry.

BarnabasError
└── RegistryError                    what a registry answered, or failed to; status and error_code
    ├── RegistryUnreachableError     (also a ConnectionError) none of its addresses answered
    ├── RegistryAuthError            it does not know who asks, or does not allow it
    ├── SubjectNotFoundError         ├── VersionNotFoundError      ├── SchemaNotFoundError
    ├── IncompatibleSchemaError      a schema may not follow the one before it
    ├── InvalidSchemaError           no schema, or one with references that do not exist
    └── BrokenRegistryError          it answered what its API does not have
"""

from __future__ import annotations

from typing import ClassVar

from barnabas.errors import BarnabasError


class RegistryError(BarnabasError):
    """`status` is HTTP's, None where nothing was answered; `error_code` the registry's own, whose first three
    digits mostly are the status."""

    def __init__(self, message: str, *, status: int | None = None, error_code: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.error_code = error_code

    def __reduce__(self) -> tuple[type[RegistryError], tuple[str], dict[str, int | None]]:
        return type(self), (str(self),), {"status": self.status, "error_code": self.error_code}


class RegistryUnreachableError(RegistryError, ConnectionError):
    """None of its addresses answered, or each said that it is not able to at present; the message has the
    reason of each."""

    retriable: ClassVar[bool] = True


class RegistryAuthError(RegistryError):
    """It does not know who asks, or does not allow it; or no token was to be had."""


class SubjectNotFoundError(RegistryError):
    """Nothing is registered under the subject, or nothing that was not deleted."""


class VersionNotFoundError(RegistryError):
    """The subject has no such version."""


class SchemaNotFoundError(RegistryError):
    """There is no schema with this id, or the subject does not have this schema."""


class IncompatibleSchemaError(RegistryError):
    """The schema may not follow those before it; the message says why, as the registry puts it."""


class InvalidSchemaError(RegistryError):
    """The text is no schema of its type, or refers to what is not registered."""


class BrokenRegistryError(RegistryError):
    """The answer is not what the API has there: perhaps the URL is not that of a registry."""


BY_ERROR_CODE: dict[int, type[RegistryError]] = {
    40401: SubjectNotFoundError,
    40402: VersionNotFoundError,
    40403: SchemaNotFoundError,
    # Deleted already, or not yet.
    40404: SubjectNotFoundError,
    40405: SubjectNotFoundError,
    40406: VersionNotFoundError,
    40407: VersionNotFoundError,
    409: IncompatibleSchemaError,
    40901: IncompatibleSchemaError,
    42201: InvalidSchemaError,
}
BY_STATUS: dict[int, type[RegistryError]] = {
    401: RegistryAuthError,
    403: RegistryAuthError,
    409: IncompatibleSchemaError,
}
