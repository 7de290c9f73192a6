from __future__ import annotations

from barnabas.registry.cache import Cache


def test_what_was_used_longest_ago_goes_first() -> None:
    cache = Cache[str, int](2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]
    assert len(cache) == 2


def test_what_is_too_old_is_not_given() -> None:
    now = 0.0
    cache = Cache[str, int](2, 10, clock=lambda: now)
    cache.put("a", 1)
    now = 9.9
    assert cache.get("a") == 1
    now = 10.0
    assert cache.get("a") is None
    assert len(cache) == 0


def test_some_are_dropped_by_key_and_value() -> None:
    cache = Cache[str, int](9)
    for number, key in enumerate("abc"):
        cache.put(key, number)
    cache.drop(lambda key, value: key == "a" or value == 2)
    assert [cache.get(key) for key in "abc"] == [None, 1, None]
    cache.clear()
    assert cache.get("b") is None
