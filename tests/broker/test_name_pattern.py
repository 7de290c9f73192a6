"""Subscriptions by regular expressions are what Kafka's are: RE2/J out of its jars says the same of each, and
its brokers refuse the same ones in the same words."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import subprocess
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from barnabas.broker.name_pattern import NamePatternError, name_pattern
from barnabas.net.connection import Connection
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.testing import ApacheKafka, EmbeddedBroker
from barnabas.testing.distribution import KafkaDistribution, java_command

NOT_READY = (14, 15, 16)
"""The coordinator loads, or there is none yet."""
SOURCE = Path(__file__).with_name("NamePatterns.java")
TOPICS = (
    *(
        "ab",
        "aa",
        "a",
        "b",
        "a.b",
        "a-b",
        "abab",
        "A",
        "AB",
        "aB",
        "a1",
        "1",
        "12",
        "abc",
        "abcd",
        "_",
        "a_b",
    ),
    *("ABC", "aab", "aaa", ".", "-", "k", "K", "s", "__consumer_offsets", "flights.2013-01"),
)
PATTERNS = (
    r"ab.*",
    r"(ab)\1",
    r"(?P<x>ab)(?P=x)",
    r"a(?=b)b.*",
    r"a(?!b).*",
    r"(?<=a)b",
    r"(?<!a)b",
    r"(?>ab)c",
    r"a++b",
    r"a*+",
    r"a?+",
    r"a{2}+",
    r"\Qa.b\E.*",
    r"\Qa.b",
    r"a\.\Qb",
    r"\E",
    r"\pL+",
    r"\p{L}+",
    r"\p{Lu}.*",
    r"\p{Greek}+",
    r"\PL",
    r"\pN+",
    r"\p{^L}",
    r"\p{Foo}",
    r"(?<n>a)b",
    r"(?<n>a)(?<n>b)",
    r"(?P<n>a)b",
    r"(?P<1n>a)b",
    r"ab\z",
    r"ab\Z",
    r"\Aab",
    r"ab$",
    r"^ab$",
    r"\Cb",
    r"a\C",
    r"(?U)a.*?",
    r"(?U)a+b",
    r"(?s)a.b",
    r"(?i)AB",
    r"(?im-s)AB",
    r"(?i:A)b",
    r"(?-i:a)b",
    r"a(?i)B",
    r"(?x)a b",
    r"(?u)a",
    r"(?a)ab",
    r"(?L)a",
    r"(?#c)a",
    r"(?i",
    r"[[:alpha:]]+",
    r"[[:^alpha:]]+",
    r"[[:foo:]]",
    r"[^[:digit:]]+",
    r"[[:word:]-]+",
    r"[a-b[c]]+",
    r"[a&&b]",
    r"[]a]+",
    r"[^]a]+",
    r"[a",
    r"[b-a]",
    r"[\d-z]",
    r"[a-\d]",
    r"[\w.]+",
    r"\d+",
    r"\D+",
    r"\w+",
    r"\W",
    r"\s",
    r"\h",
    r"\R",
    r"\X",
    r"\G",
    r"\cA",
    r"\e",
    r"\a",
    r"\x61b",
    r"\x{61}b",
    r"\x{110000}",
    r"\0141",
    r"\141b",
    r"\8",
    r"\u0061",
    r"\N{DIGIT ONE}",
    r"\bab\b",
    r"\Bb",
    r"a{0}",
    r"a{,3}",
    r"a{2,1}",
    r"a{1001}",
    r"a{1000}",
    r"a{1,",
    r"a{x}",
    r"{1}",
    r"a**",
    r"a*?",
    r"a??",
    r"+a",
    r"|a",
    r"a|",
    r"()",
    r"(",
    r")",
    r"a)",
    r"ab|",
    r"(?:ab)+",
    r"(?:",
    "\\",
    "a\\",
    r"*",
    r"^*",
    r"$*",
    r"(?:^)*",
    r"(?i)[a-z]+",
    r"\Q[a]\E+",
    r"(a|ab)(c|bcd)",
    r"[\Qa.\E]+",
    r"[[.a.]]",
    r"[[=a=]]",
    r"\pLa",
    r"\p",
    r"\p{",
    r"[\p{L}\d]+",
    r"[^\pL]+",
    r"[\PN]+",
    r"\pZ",
    r"a.b",
    r"a\.b",
    r"a\_b",
    r"a\-b",
    r"é",
    r"\é",
    r"\y",
    r"\q",
    r"\i",
    r"\k",
    r"\k<n>",
    r"(?<n>a)\k<n>",
    r"(a)(?(1)b|c)",
    r"(?P>n)",
    r"(?<>a)",
    r"(?<n a)",
    r"(?P=n)",
    r"(?&n)",
    r"(?|a)",
    r"(?'n'a)",
    r"(?i)(?-i)A",
    r"(?i-)a",
    r"(?-)a",
    r"(?^a)",
    r"(?)",
    r"(?:a",
    r"a{1}{2}",
    r"a{2}*",
    r"(?s).*",
    r"(?m)^a$",
    r"a\n",
    r".",
    r"\x{}",
    r"\x6",
    r"(?i)\p{Lu}+",
    r"(?i)[^a]",
    r"(?i)[[:upper:]]+",
    r"(?i)\P{Lu}+",
    r"a(?i)b|B",
    r"(?i)a|b",
    r"((?i)a)b|B",
    r"[a-]+",
    r"[-a]+",
    r"[a-z0-9._-]+",
    r"[\x61-\x63]+",
    r"[\.\-\_]",
    r"\p{Common}+",
    r"\p{Any}+",
    r"\p{Latin}+",
    r"[^\x00-\x{10FFFF}]*a",
    r"a{2,}",
    r"a{1,2}b?",
    r"(?:a|b){2}",
    r"(?ii)A",
    r"(?i-i)A",
    r"(?P<a>a)(?<b>b)",
    r"(?U)a{2}?",
    r"\07a",
    r"ab\Q\E",
    r"\Qa\Eb+",
    r"\S+",
    r"[\s\S]+",
    r"a(?i)*",
    r"(?i)*",
    r"a|*",
    r"(*)",
    r"(a*)*",
    r"(?:a*)*",
    r"a*(?i)*",
    r"\Q\E*",
    r"\b*a",
    r"[[:alpha:]_]+",
    r"[[:alpha]+",
    r"[a-c-z]+",
    r"(?P<n>a",
    r"(a+)+c",
    r"(a|a)*b",
    r"(a|aa)+b",
    r"((a*)*)*b",
    r"(.*a){3}b",
    r"(((((a)))))b",
    r"((a)|(b)){1,3}",
    r"((?i)a|b)+",
    r"(|a)+",
    r"(a?)*b",
    r"(^a)b$",
    r"(^|a)b",
    r"(a$|b)*",
    r"[[:alpha:][:digit:]]+",
    r"[[:alpha:]-z]+",
    r"[:alpha:]+",
    r"[[:]+",
    r"[[:a]+",
    r"\x{d800}a*",
    r"a{0,1000}",
    r"(?:a{10}){10}",
)


# As transactional ids may be.
ODD_NAMES = (
    *("a b", "a\nb", "a\n", "\na", "\n", "é", "É", "straße", "ẞ", "α", "Ω", "ω", "Ω", "я", "漢字", "カ"),
    *("ひ", "한", "\u212a", "k", "K", "\u017f", "s", "µ", "٣", "٣3", "½", "€", "_", "a/b", "[a]", "🌀"),
    *("a\tb", "e\u0301", "Å"),
)
ODD_PATTERNS = (
    *(".", "..", ".*", "(?s).*", "(?s)..", "a.b", "(?s)a.b", "(?s:a.)b", "(?s)a(?-s).b", "a$", "(?m)a$"),
    *("(?m)a$.*", "(?ms)a$.*", "(?ms).*^a", "(?ms).*^b", r"(?m)^a$\n.*", "^a", r"(?s)a\z.*", "(?m:^)a"),
    *(r"\s", r"\S", r"\s*a", r"\pL+", r"\PL+", r"\p{Lu}", r"\p{Ll}", r"(?i)\p{Lu}", r"\p{Lo}+"),
    *(r"\p{Greek}", r"\p{Cyrillic}", r"\p{Han}+", r"\p{Katakana}", r"\p{Hiragana}", r"\p{Hangul}"),
    *(r"\p{Latin}+", r"\p{Common}", r"\p{^Latin}+", r"\p{Any}+", r"\pN+", r"\p{Nd}+", r"\d+", r"\D"),
    *(r"\w+", r"\W", "[[:alpha:]]+", "[[:^alpha:]]", "[[:space:]]", "[[:cntrl:]]", "[^[:ascii:]]+"),
    *("[é-ω]", "[^a]", "[^a]+", "(?i)é", "(?i)É", "(?i)ω", "(?i)k", "(?i)s", "(?i)[k]", "(?i)[s]"),
    *("(?i)[a-z]", "(?i)STRASSE", "(?i)STRAẞE", "(?i)ß", "é", r"\x{e9}", r"\x{1F600}", r"\351"),
    *(r"\Qa b\E", r"\Q[a]\E", r"\pM", r"e\pM", r"\p{Sc}", r"\pS", r"\p{So}", r"\p{Cc}", r"a\tb", r"a\nb"),
    *(r"a[\n ]b", r"a\bb", r"a\b.b", r"a\b/\bb", r".\B.", r"[\pL\pN]+", r"[^\pL\pN]+", "(?i)µ", "(?i)å"),
    *("(?i)[å]", "[Ω]", "(?i)[Ω]"),
)


def made_of(pattern: str, names: Sequence[str] = TOPICS) -> str:
    try:
        matches = name_pattern(pattern, frozenset("".join(names))).matches
    except NamePatternError as error:
        return f"! {error}"
    return "= " + " ".join(str(place) for place, name in enumerate(names, 1) if matches(name))


@pytest.mark.parametrize(
    ("patterns", "names"), [(PATTERNS, TOPICS), (ODD_PATTERNS, ODD_NAMES)], ids=["topics", "odd names"]
)
def test_the_same_names_match_as_by_re2j_and_the_same_is_refused(
    patterns: Sequence[str], names: Sequence[str], tmp_path: Path
) -> None:
    lines = tmp_path / "patterns"
    lines.write_text("".join(f"{pattern}\n" for pattern in patterns))
    utf_8 = ["-Dfile.encoding=UTF-8", "-Dsun.jnu.encoding=UTF-8"]
    command = [java_command(), *utf_8, "-cp", KafkaDistribution().class_path, str(SOURCE)]
    done = subprocess.run(
        [*command, str(lines), *names], capture_output=True, text=True, timeout=60, check=True
    )
    theirs = dict(zip(patterns, done.stdout.splitlines(), strict=True))
    assert {pattern: made_of(pattern, names) for pattern in patterns} == theirs


@pytest.mark.parametrize(
    "pattern", ["(a+)+c", "(a|a)*c", "(a|aa)+c", "((a*)*)*c", "(?i)(A+)+c", "(.*a){12}c"]
)
def test_no_expression_takes_longer_for_a_name_that_does_not_match(pattern: str) -> None:
    """One that goes back would take longer than there is time."""
    assert not name_pattern(pattern).matches("a" * 5_000 + "b")


@pytest.fixture
def no_garbage_collection() -> Iterator[None]:
    """What other tests left is not looked through in the time that is measured."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(
    "pattern",
    [
        *("(" * 30_000, "(" * 15_000 + ")" * 15_000, "[[:" * 10_000, "[a" + "[:" * 15_000, r"\Q" * 10_000),
        *("(?i)" * 8_000, "[a-z]" * 6_000, r"\pL" * 10_000, "(?P<" * 8_000, "a|" * 16_000, "[^a]" * 8_000),
        *("(a" * 10_000 + ")*" * 10_000, "((a{1000}){1000}){1000}", "a" * 32_767, "a" * 32_768),
    ],
    ids=lambda pattern: pattern[:8],
)
@pytest.mark.usefixtures("no_garbage_collection")
def test_long_expressions_are_read_or_refused_in_a_moment(pattern: str) -> None:
    """As each is read once, character by character, what is not refused takes time as its length does."""
    before = time.thread_time()
    with contextlib.suppress(NamePatternError):
        name_pattern(pattern).matches("a")
    whole = time.thread_time() - before
    before = time.thread_time()
    with contextlib.suppress(NamePatternError):
        name_pattern(pattern[: len(pattern) // 8]).matches("a")
    eighth = time.thread_time() - before
    assert whole < max(0.5, 30 * eighth)


def test_what_is_refused_for_its_size_is_said_so() -> None:
    for pattern in ("a" * 32_768, "((a{1000}){1000}){1000}"):
        with pytest.raises(NamePatternError, match="too large"):
            name_pattern(pattern)


def test_brokers_refuse_an_expression_in_the_words_of_kafkas(
    apache_kafka: ApacheKafka, embedded_broker: EmbeddedBroker
) -> None:
    async def refusals(bootstrap: str) -> list[tuple[int, str | None]]:
        host, _, port = bootstrap.rpartition(":")
        connection = await Connection.open(host, int(port), client_id="test")
        answers: list[tuple[int, str | None]] = []
        for pattern in filter(lambda pattern: made_of(pattern).startswith("!"), PATTERNS):
            request = ConsumerGroupHeartbeatRequest(
                "refused",
                str(uuid.uuid4()),
                0,
                rebalance_timeout_ms=1000,
                subscribed_topic_regex=pattern,
                topic_partitions=[],
            )
            answer = await connection.submit(request, timeout_ms=30_000)
            while answer.error_code in NOT_READY:
                find = FindCoordinatorRequest(key_type=0, coordinator_keys=["refused"])
                await connection.submit(find, timeout_ms=30_000)
                answer = await connection.submit(request, timeout_ms=30_000)
            answers.append((answer.error_code, answer.error_message))
        connection.close()
        return answers

    theirs, ours = (asyncio.run(refusals(broker.bootstrap)) for broker in (apache_kafka, embedded_broker))
    assert ours == theirs
    assert len(ours) > 40
