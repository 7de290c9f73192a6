"""What kafka-python has for programs to use, in each generation, and what of it the facade lacks.

`python -m tests.compat.kafka.names`: lists what is missing in `names_still_missing.txt`, which only shrinks.
With `--record GENERATION PYTHON FOLDER`: writes down the names of the package in a folder, as that Python
sees it.

Owns what is not counted, with the reasons, of which it makes docs/kafka-python-names.md too.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.compat.kafka.generation_runs import HERE, genuine, ours_with

from barnabas.compat.kafka_python.generations import GENERATIONS

STILL_MISSING = HERE / "names_still_missing.txt"
PAGE = HERE.parents[2] / "docs" / "kafka-python-names.md"
SCRIPT = HERE / "inventory_script.py"

ARGUED = {
    r"kafka\.benchmarks": "programs that measure the original; `make bench ARGS=--compat` measures both",
    r"kafka\.vendor": "copies of other packages for old Pythons: six, selectors, enum, socketpair",
    r"kafka\.selectors34": "a copy of the standard library's `selectors` for Python 2",
    r"kafka\.cli\.": "the classes behind the command lines; the command lines themselves are there",
    r"kafka\.admin\._": "where the original has its classes for itself; `kafka.admin` gives them",
    r"kafka\.record\..*(next_batch|DefaultRecordBatchBuilder\.append|calc_crc32c): takes":
        "parameters that the original binds for speed",
    r"kafka\.record\.(util\.crc32c_c|default_records\.DefaultRecordBatchBuilder\.write_header)":
        "what is inside of the original's record batches",
    r"kafka\.record\._crc32c": "the tables of a checksum, which the kernel computes",
    r"kafka\.protocol\.(generate_stubs|schemas)": "what the original makes its message classes with",
    r"kafka\.protocol\.old\.": "the message classes of 2 that 3 keeps unused; they are in generation 2",
    r"kafka\.producer\.(buffer|producer_batch|record_accumulator|sender|transaction_manager)":
        "what is inside of the original's producer; the core's wing `produce` does that",
    r"kafka\.consumer\.fetcher\.(Exception|Fetch|Partition|Complet|Unknown|_|READ|ISOLATION|OffsetReset|Offsets|Positions)":
        "what is inside of the original's consumer; the core's wing `consume` does that",
    r"kafka\.consumer\.subscription_state\.(SubscriptionState|TopicPartitionState|SubscriptionType)":
        "what is inside of the original's consumer",
    r"kafka\.coordinator\.(base|consumer|heartbeat)":
        "what is inside of the original's consumer; the core's wing `groups` does that",
    r"kafka\.coordinator\.assignors\.sticky\.(partition_movements|sorted_set)":
        "what is inside of the original's sticky assignor",
    r"kafka\.coordinator\.assignors\.sticky\.(user_data|sticky_assignor\.(?!StickyPartitionAssignor))":
        "what is inside of the original's sticky assignor",
    r"kafka\.(coordinator\.assignors\..*|Abstract.*)\.(DEFAULT_GENERATION_ID|parse_member_metadata)":
        "what is inside of the original's sticky assignor",
    r"kafka\.codec\.(PYPY|lz4f|lz4framed|xxhash|ZSTD_MAX_OUTPUT_SIZE)":
        "what the original compresses with; the kernel does that",
    r"kafka\.util\.(Dict|Timer|WeakMethod|classproperty|synchronized|MAX_INT|TO_SIGNED)":
        "small tools of the original's own insides",
    r"kafka\.producer\.kafka\.PRODUCER_CLIENT_ID_SEQUENCE": "a counter of the original's own",
    r"kafka\.conn\.(AFI_NAMES|BrokerConnectionMetrics|InFlightRequest|ssl_available)":
        "what is inside of the original's connections",
    r"kafka\.client_async\.(IdleConnectionManager|KafkaClientMetrics)":
        "what is inside of the original's client; `metrics()` has the figures",
    r"kafka\.net\.(compat|connection|inet|manager|metrics|selector|transport|wakeup_notifier|http_connect|socks5)":
        "the original's loop over sockets; connections here are the core's",
    r"kafka\.protocol\..*\.(encode_header_into|encode_into|encode_into__optimized_context|fields|header_class|json|json_patch|"
    r"encode_header|parse_header|flexible_version_q|min_version|max_version|valid_versions|name|type|"
    r"min_version_for_(isolation_level|timestamp)):":
        "what the original makes its message classes of, and writes them with",
    r"kafka\.protocol\.(api_data\.JsonSchemaData|api_header\.(ApiHeader|ResponseClassRegistry)|"
    r"api_message\.(ApiMessageData|VersionSubscriptable)|data_container\.(SlotsBuilder|DataContainer\.(en|de)code))":
        "what the original makes its message classes of, and writes them with",
    r"kafka\.protocol\.(broker_api_versions|broker_version_data\.(BROKER_API_VERSIONS|VERSION_CHECKS|infer_broker)|"
    r"api_versions\.BaseApiVersionsResponse|abstract\.AbstractType\.(en|de)code)":
        "insides of the original's negotiation of versions; `check_version` and `api_version` are there",
    r"kafka\.net\.(HttpConnectProxy|Kafka|NetworkSelector|Socks5Proxy|WakeupNotifier|create_connection)":
        "the original's loop over sockets; connections here are the core's",
    r"kafka\.socks5_wrapper": "the original's sockets to a proxy; `socks5_proxy` is the core's",
    r"kafka\.(net\.)?sasl\.(SaslMechanismSSPI|sspi)": "Kerberos of Windows, by pywin32; GSSAPI is there",
    r"kafka\.(net\.)?sasl\.(msk\.AwsMskIamClient|scram\.(ScramClient|xor_bytes))":
        "what is inside of the original's mechanisms; the mechanisms are there",
    r"kafka\.coordinator\.assignors\.(range|roundrobin)\..*\.assign: takes":
        "the second argument has the name that 3 gives it; assignors are called by position",
    r"kafka\.coordinator\.assignors\.sticky\.sticky_assignor\.StickyPartitionAssignor\."
    r"(generation|member_assignment|on_generation_assignment)":
        "what is inside of the original's sticky assignor",
    r"kafka\.producer\.future\.FutureRecordMetadata\.rebind": "what is inside of the original's producer",
    r"kafka\.conn\.(KafkaConnection|DEFAULT_SOCKET_TIMEOUT_SECONDS)":
        "what is inside of 1.2's SimpleClient, which is there",
    r"kafka\.(conn\.)?BrokerConnection\.(SECURITY_PROTOCOLS|VERSION_CHECKS|send_pending_requests_v2)":
        "what is inside of the original's connections",
}  # fmt: skip
"""Names that are not there, as patterns of where they are, and why."""


def recorded(generation: str) -> Path:
    return HERE / "recorded" / f"inventory_{generation}.json"


def missing(generation: str) -> list[str]:
    """What the facade lacks of a generation, in lines that begin with a name, without what is argued for."""
    wanted = genuine("inventory", generation)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as told:
        json.dump(wanted, told)
        told.flush()
        found = ours_with(SCRIPT, generation, told.name)
    return [line for line in sorted(_missing(wanted, found)) if not is_argued(line)]


def is_argued(line: str) -> bool:
    return any(re.match(pattern, line) for pattern in ARGUED)


def _missing(wanted: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    for module, values in wanted.items():
        for name, value in values.items():
            full_name = f"{module}.{name}"
            if module not in found:
                yield f"{full_name}: no such module"
            elif name not in found[module]:
                yield f"{full_name}: missing"
            else:
                yield from _lacking(full_name, value, found[module][name])


def _lacking(name: str, wanted: Any, found: Any) -> Iterator[str]:
    if wanted.get("takes") is not None and not _takes_all(found.get("takes"), wanted["takes"]):
        yield f"{name}: takes {found.get('takes')}, not {wanted['takes']}"
    for member, value in wanted.get("members", {}).items():
        if member not in found.get("members", {}):
            yield f"{name}.{member}: missing"
        else:
            yield from _lacking(f"{name}.{member}", value, found["members"][member])


def _takes_all(found: list[str] | None, wanted: list[str]) -> bool:
    """Whether each call that the original takes is taken: there may be more parameters, with defaults."""
    if found is None or found[:2] == ["*args", "**kwargs"]:
        return True
    more = found[len(wanted) :]
    are_the_same = all(one in (other, f"{other}=") for one, other in zip(found, wanted, strict=False))
    return (
        len(found) >= len(wanted)
        and are_the_same
        and all(each.endswith("=") or each.startswith("*") for each in more)
    )


def _record(generation: str, python: str, folder: str) -> None:
    command = [python, "-W", "ignore", str(SCRIPT)]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": folder}, check=True, capture_output=True, text=True
    )
    recorded(generation).write_text(done.stdout)


def page() -> str:
    """docs/kafka-python-names.md."""
    rows = "".join(f"| {_shown(pattern)} | {reason} |\n" for pattern, reason in sorted(ARGUED.items()))
    return _PAGE.format(rows=rows)


def _shown(pattern: str) -> str:
    """A pattern, as far as it says where names are, with what it says of them."""
    plain = pattern.replace("\\.", ".").replace("|", ", ").replace("(?!", "(not ").replace(".*", "*")
    return f"`{plain.rstrip('.')}`"


_PAGE = """# Names of kafka-python that are not here

The facade `kafka` has every public name of kafka-python 1.2.1, 2.3.1 and 3.0.12, each taking what it took,
but for these. `tests/compat/kafka/test_names.py` compares all names, and has a list of those to come;
this page is made by `tests/compat/kafka/names.py`.

| names | why they are not here |
|---|---|
{rows}"""


def _write_missing() -> None:
    PAGE.write_text(page())
    lines = [f"{generation} {line}" for generation in GENERATIONS for line in missing(generation)]
    STILL_MISSING.write_text("".join(f"{line}\n" for line in lines))
    print(f"{len(lines)} names are missing")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--record"]:
        _record(*sys.argv[2:])
    else:
        _write_missing()
