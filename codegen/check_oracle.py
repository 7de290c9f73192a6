"""Checks every message in every version against Kafka's own Java classes, of both releases.

    python codegen/check_oracle.py [--instances 20] [--seed 0] [--message FetchRequest]

Exits with 1 if anything differs, naming message, version and seed.
"""

from __future__ import annotations

import argparse
import sys
import time

import jars
from barnabas.protocol.frame import request_header_version, response_header_version
from barnabas.protocol.schema import Message, Request
from oracle.comparison import DisagreementError, compare_defaults, compare_instances
from oracle.instances import message_classes
from oracle.java_oracle import JavaOracle, OracleError

RELEASES = {
    jars.NEWEST_KAFKA: (jars.CLIENTS, jars.GROUP_COORDINATOR, jars.TRANSACTION_COORDINATOR),
    jars.OLDER_KAFKA: (jars.OLDER_CLIENTS,),
}


def versions_to_check(oracle: JavaOracle, cls: type[Message]) -> range:
    """The versions of a message that both Barnabas and the release have."""
    theirs = oracle.versions(cls.__name__)
    if theirs is None:
        return range(0)
    return range(max(theirs[0], cls.VERSIONS[0]), min(theirs[1], cls.VERSIONS[1]) + 1)


def check_headers(oracle: JavaOracle, cls: type[Message], version: int) -> None:
    if issubclass(cls, Request):
        ours = (request_header_version(cls, version), response_header_version(cls, version))
        theirs = oracle.header_versions(cls.API_KEY, version)
        if ours != theirs:
            raise DisagreementError(
                f"{cls.__name__} version {version}: headers {ours} here, {theirs} in Java"
            )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--instances", type=int, default=20, help="random instances of each version (20)")
    parser.add_argument("--seed", type=int, default=0, help="where the random instances begin (0)")
    parser.add_argument("--message", help="only this class")
    arguments = parser.parse_args()
    classes = [cls for cls in message_classes() if arguments.message in (None, cls.__name__)]
    unchecked = {(cls, version) for cls in classes for version in range(cls.VERSIONS[0], cls.VERSIONS[1] + 1)}
    disagreements = 0
    for release, coordinates in RELEASES.items():
        begin = time.monotonic()
        checked = 0
        with JavaOracle(*coordinates) as oracle:
            for cls in classes:
                for version in versions_to_check(oracle, cls):
                    # The older release speaks for the versions that the newer one has dropped.
                    if (cls, version) not in unchecked:
                        continue
                    unchecked.remove((cls, version))
                    checked += 1
                    try:
                        check_headers(oracle, cls, version)
                        compare_defaults(oracle, cls, version)
                        compare_instances(oracle, cls, version, arguments.seed, arguments.instances)
                    except (DisagreementError, OracleError) as disagreement:
                        disagreements += 1
                        print(disagreement)
        seconds = time.monotonic() - begin
        print(
            f"Kafka {release}: {checked} versions of messages, {checked * arguments.instances} instances, "
            f"{seconds:.0f} s"
        )
    for cls, version in sorted(unchecked, key=lambda each: (each[0].__name__, each[1])):
        print(f"{cls.__name__} version {version} is in neither release's Java classes")
    return 1 if disagreements or unchecked else 0


if __name__ == "__main__":
    sys.exit(main())
