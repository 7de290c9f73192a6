from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.registry.rules.dek_server import DekServer

from barnabas.loop_thread import loop_thread
from barnabas.registry import BrokenRegistryError, RegistryError
from barnabas.registry.rules.encryption.dek_registry import LATEST, AsyncDekRegistry, DekCalls, DekRegistry
from barnabas.registry.rules.encryption.keys import DekAlgorithm, Kek

Front = Callable[..., Any]


class Awaited:
    """An AsyncDekRegistry whose calls are awaited at once."""

    def __init__(self, url: str, **settings: Any) -> None:
        async def make() -> AsyncDekRegistry:
            return AsyncDekRegistry(url, **settings)

        self._registry = loop_thread().run(make())

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **words: Any) -> Any:
            found = getattr(self._registry, name)(*arguments, **words)
            return loop_thread().run(found) if inspect.iscoroutine(found) else found

        return call


@pytest.fixture(params=[DekRegistry, Awaited])
def front(request: pytest.FixtureRequest) -> Iterator[Front]:
    made: list[Any] = []

    def begin(url: str, **settings: Any) -> Any:
        made.append(request.param(url, **settings))
        return made[-1]

    yield begin
    for each in made:
        each.close()


@pytest.mark.integration
def test_keys_are_registered_read_listed_deleted_and_brought_back(
    dek_server: DekServer, front: Front
) -> None:
    registry = front(dek_server.url)
    kek = registry.register_kek("k/1", "aws-kms", "arn", kms_props={"a": "b"}, doc="for tests")
    assert (kek.name, kek.kms_type, kek.kms_key_id) == ("k/1", "aws-kms", "arn")
    assert (kek.kms_props, kek.doc, kek.shared) == ({"a": "b"}, "for tests", False)
    dek = registry.register_dek("k/1", "a b", "bWF0", algorithm=DekAlgorithm.AES128_GCM)
    registry.register_dek("k/1", "a b", "b3Ro", algorithm=DekAlgorithm.AES128_GCM, version=2)
    assert (dek.version, dek.algorithm, dek.encrypted_key_material) == (1, "AES128_GCM", "bWF0")
    registry.clear_caches()
    assert registry.get_kek("k/1") == kek
    gcm = {"algorithm": DekAlgorithm.AES128_GCM}
    assert registry.get_dek("k/1", "a b", version=LATEST, **gcm).version == 2
    assert registry.keks() == ["k/1"]
    assert registry.dek_subjects("k/1") == ["a b"]
    assert registry.dek_versions("k/1", "a b", **gcm) == [1, 2]
    registry.delete_dek("k/1", "a b", version=2, **gcm)
    assert registry.dek_versions("k/1", "a b", **gcm) == [1]
    assert registry.get_dek("k/1", "a b", version=LATEST, **gcm).version == 1
    assert registry.get_dek("k/1", "a b", version=2, deleted=True, **gcm).deleted
    registry.undelete_dek("k/1", "a b", version=2, **gcm)
    assert registry.dek_versions("k/1", "a b", **gcm) == [1, 2]
    registry.delete_kek("k/1")
    with pytest.raises(RegistryError) as missing:
        registry.get_kek("k/1")
    assert missing.value.status == 404
    registry.undelete_kek("k/1")
    assert registry.get_kek("k/1").name == "k/1"
    registry.delete_kek("k/1", permanent=True)
    assert registry.keks() == []


@pytest.mark.integration
def test_what_was_answered_is_remembered(dek_server: DekServer, front: Front) -> None:
    registry = front(dek_server.url)
    for _ in range(2):
        registry.register_kek("k", "local-kms", "x")
        registry.get_kek("k")
        registry.register_dek("k", "s", "bWF0")
        registry.get_dek("k", "s")
    # A key that was registered is the one that would be read.
    assert dek_server.asked == ["POST ", "POST /k/deks/s"]


@pytest.mark.integration
def test_a_second_key_of_a_name_is_an_error(dek_server: DekServer, front: Front) -> None:
    front(dek_server.url).register_kek("k", "local-kms", "x")
    with pytest.raises(RegistryError, match="Key already exists") as raised:
        front(dek_server.url).register_kek("k", "local-kms", "y")
    assert (raised.value.status, raised.value.error_code) == (409, 40971)


@pytest.mark.integration
def test_an_answer_that_is_no_key_is_an_error(stranger: Callable[..., Any], front: Front) -> None:
    server = stranger((200, b'{"name": "k"}'), (200, b'["a", 1]'), (200, b'{"algorithm": "ROT13"}'))
    registry = front(server.url)
    with pytest.raises(BrokenRegistryError, match="kmsType is missing"):
        registry.get_kek("k")
    with pytest.raises(BrokenRegistryError, match="a list of str was to be expected"):
        registry.keks()


def test_both_fronts_have_the_same_calls() -> None:
    def calls(front: type) -> dict[str, Any]:
        names = [name for name, each in vars(DekCalls).items() if inspect.isfunction(each) and name[0] != "_"]
        return {name: str(inspect.signature(getattr(front, name))) for name in names}

    assert calls(DekRegistry) == calls(AsyncDekRegistry)


@pytest.mark.integration
def test_a_client_travels_with_its_settings(dek_server: DekServer) -> None:
    with DekRegistry(dek_server.url) as registry:
        registry.register_kek("k", "local-kms", "x")
        with pickle.loads(pickle.dumps(registry)) as copy:
            assert copy.get_kek("k").kms_key_id == "x"


def test_a_key_in_the_clear_is_not_shown() -> None:
    from barnabas.registry.rules.encryption.keys import Dek

    dek = Dek("k", "s", 1, DekAlgorithm.AES256_GCM, "bWF0", "c2VjcmV0")
    assert "c2VjcmV0" not in repr(dek)
    assert Kek.from_json({"name": "k", "kmsType": "t", "kmsKeyId": "i"}).kms_props == {}
