"""Where encryption by confluent_kafka's names shows credentials, when the registry names the address."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from barnabas.compat.confluent_kafka.schema_registry.rules.encryption.encrypt_executor import (
    EncryptionExecutor,
    FieldEncryptionExecutor,
)
from barnabas.registry.rules import RuleError
from barnabas.registry.rules.encryption.keys import Kek

KEK = Kek("k", "own-kms", "http://elsewhere/k", {}, None, False)
ASKED = "no KMS driver found for key URL: own-kms://http://elsewhere/k"
REFUSED = "names the address 'http://elsewhere/k', whose host encrypt.kms.hosts of the rules' settings"


@pytest.mark.parametrize("kind", [EncryptionExecutor, FieldEncryptionExecutor])
@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"encrypt.kms.hosts": "vault"}, REFUSED),
        ({"encrypt.kms.hosts": ""}, REFUSED),
        ({"encrypt.kms.hosts": "elsewhere"}, ASKED),
        ({}, ASKED),
    ],
    ids=["another host", "no host", "its host", "no list"],
)
def test_a_program_that_gives_a_list_of_hosts_asks_at_those_alone(
    kind: Any, config: dict[str, str], words: str
) -> None:
    """Without a list it asks at any address, as the original does."""
    with closing(kind()) as made:
        made.configure(None, config)
        own = made if kind is EncryptionExecutor else made.executor
        with pytest.raises(RuleError) as raised:
            own.wrapped(KEK, b"x")
        assert words in str(raised.value)
