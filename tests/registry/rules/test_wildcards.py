from __future__ import annotations

from confluent_kafka.schema_registry.wildcard_matcher import wildcard_match as original
from hypothesis import example, given
from hypothesis import strategies as st

from barnabas.registry.rules.wildcards import wildcard_match


@given(st.text("ab.", max_size=6), st.text("ab.*?", max_size=6))
@example("alice.bob.eve", "a**")
@example("alice.bob.eve", "a*.bob.e*")
@example("a.b", "**.*")
@example("a+b", "a+b")
@example("a\nb", "a?b")
def test_patterns_match_what_they_match_in_the_original(text: str, pattern: str) -> None:
    assert wildcard_match(text, pattern) == original(text, pattern)


def test_letters_that_mean_something_in_regular_expressions_are_letters() -> None:
    """Brackets are taken for sets by the original."""
    assert wildcard_match("a[0].b", "a[0].*")
    assert wildcard_match("a\\*b", "a\\*b")
