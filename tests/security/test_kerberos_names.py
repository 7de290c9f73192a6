"""From names in Kerberos to users, beside Kafka's own class."""

from __future__ import annotations

import subprocess
from itertools import product
from pathlib import Path

import pytest

from barnabas.errors import InvalidSettingError
from barnabas.net.sasl_server.conversation import RefusedError
from barnabas.net.sasl_server.kerberos_names import KerberosShortNames
from barnabas.testing.distribution import KafkaDistribution, java_command

SOURCE = Path(__file__).with_name("KerberosNames.java")
REALM = "EXAMPLE.COM"
PRINCIPALS = (
    "alice@EXAMPLE.COM",
    "alice@OTHER.COM",
    "kafka/broker-1.example.com@EXAMPLE.COM",
    "kafka/broker-1.example.com@OTHER.COM",
    "Alice.Admin@OTHER.COM",
    "alice",
    "a/b/c@EXAMPLE.COM",
    "alice@A@B",
    "@EXAMPLE.COM",
)
RULES = (
    ("DEFAULT",),
    (r"RULE:[1:$1@$0](.*@OTHER\.COM)s/@.*//", "DEFAULT"),
    ("RULE:[1:$1]", "RULE:[2:$1]"),
    ("RULE:[2:$1](kafka)s/^.*$/broker/",),
    (r"RULE:[1:$1@$0](^.*@OTHER\.COM$)s/^([a-zA-Z.]*)@.*$/$1/L",),
    (r"RULE:[1:$1@$0](^.*@OTHER\.COM$)s/^([a-zA-Z.]*)@.*$/$1/U", "DEFAULT"),
    ("RULE:[1:$1;$0](.*;OTHER.COM)s/[a-e]/x/g", "RULE:[2:$1-$2]s/broker/node/"),
    ("RULE:[1:$1]/L",),
    ("RULE:[1:$1@$0]",),
    (r"RULE:[2:$1.$2](.*)s/\./-/g/U",),
    ("RULE:[1:$1,$0]s/,.*//", "DEFAULT"),
    ("RULE:[0:$0]", "DEFAULT"),
    ("nonsense",),
    ("RULE:[1:$1](", "DEFAULT"),
)


def ours(rules: tuple[str, ...], principal: str) -> str:
    try:
        return "=" + KerberosShortNames(",".join(rules), REALM).user(principal)
    except (RefusedError, InvalidSettingError):
        return "refused"


@pytest.mark.integration
def test_principals_are_called_as_kafkas_class_calls_them() -> None:
    cases = list(product(RULES, PRINCIPALS))
    done = subprocess.run(
        [java_command(), "-cp", KafkaDistribution().class_path, str(SOURCE)],
        input="".join(f"{REALM}\t{' ; '.join(rules)}\t{principal}\n" for rules, principal in cases),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    theirs = done.stdout.splitlines()
    assert len(theirs) == len(cases)
    differing = [
        (rules, principal, ours(rules, principal), answer)
        for (rules, principal), answer in zip(cases, theirs, strict=True)
        if ours(rules, principal) != answer
    ]
    assert differing == []


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ("nonsense", "'nonsense' is neither DEFAULT nor RULE"),
        ("RULE:[1:$2]", r"names \$2 of 1 components"),
        ("RULE:[1:$1](*)", "nothing to repeat"),
    ],
)
def test_a_rule_that_is_none_is_told(rules: str, reason: str) -> None:
    with pytest.raises(InvalidSettingError, match=reason):
        KerberosShortNames(rules, REALM)
