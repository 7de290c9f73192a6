"""Which versions of which messages are checked against which Kafka release."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import jars
from barnabas.protocol.frame import request_header_version, response_header_version
from barnabas.protocol.schema import Message, Request
from oracle.comparison import DisagreementError, compare_defaults, compare_instances
from oracle.java_oracle import JavaOracle, OracleError

RELEASES = {
    jars.NEWEST_KAFKA: (jars.CLIENTS, *jars.COORDINATORS),
    jars.OLDER_KAFKA: (jars.OLDER_CLIENTS,),
}


@dataclass(frozen=True)
class Check:
    """What came of checking one version of a message; `failure` is None where both sides agree."""

    release: str
    message: str
    version: int
    failure: str | None


def run_checks(
    classes: list[type[Message]], seed: int, instances: int, *, edges_only: bool = False
) -> Iterator[Check]:
    """Check every version against the newest release that has it; at last those that none has, as failures.

    `edges_only` takes only the lowest and the highest version that a release has to speak for.
    """
    unchecked = {cls: list(range(cls.VERSIONS[0], cls.VERSIONS[1] + 1)) for cls in classes}
    for release, coordinates in RELEASES.items():
        with JavaOracle(*coordinates) as oracle:
            for cls in classes:
                lowest, highest = oracle.versions(cls.__name__) or (1, 0)
                versions = [version for version in unchecked[cls] if lowest <= version <= highest]
                unchecked[cls] = [version for version in unchecked[cls] if version not in versions]
                for version in sorted({*versions[:1], *versions[-1:]}) if edges_only else versions:
                    failure = _failure(oracle, cls, version, seed, instances)
                    yield Check(release, cls.__name__, version, failure)
    for cls, versions in unchecked.items():
        for version in versions:
            yield Check(
                "no release", cls.__name__, version, f"{cls.__name__} version {version} is unknown to Java"
            )


def _failure(oracle: JavaOracle, cls: type[Message], version: int, seed: int, instances: int) -> str | None:
    try:
        _compare_headers(oracle, cls, version)
        compare_defaults(oracle, cls, version)
        compare_instances(oracle, cls, version, seed, instances)
    except (DisagreementError, OracleError) as error:
        return str(error)
    return None


def _compare_headers(oracle: JavaOracle, cls: type[Message], version: int) -> None:
    if issubclass(cls, Request):
        ours = (request_header_version(cls, version), response_header_version(cls, version))
        theirs = oracle.header_versions(cls.API_KEY, version)
        if ours != theirs:
            raise DisagreementError(
                f"{cls.__name__} version {version}: headers {ours} here, {theirs} in Java"
            )
