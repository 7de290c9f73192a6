from __future__ import annotations

import pickle

import confluent_kafka as real
import pytest
from tests.compat.both import outcomes

from barnabas import broker_errors, errors
from barnabas.compat.librdkafka.values.errors import (
    ConcurrentModificationException,
    IllegalStateException,
    KafkaError,
    KafkaException,
    kafka_error_of,
)

REAL = {"KafkaError": real.KafkaError, "KafkaException": real.KafkaException, "pickle": pickle}
OURS = {"KafkaError": KafkaError, "KafkaException": KafkaException, "pickle": pickle}


def constants(error: type) -> dict[str, int]:
    return {name: value for name, value in vars(error).items() if type(value) is int and name[:2] != "__"}


def test_every_constant_of_the_real_package_is_there_with_its_number() -> None:
    assert constants(real.KafkaError).items() <= constants(KafkaError).items()
    assert len(constants(KafkaError)) == len(constants(real.KafkaError))


def test_names_and_texts_are_librdkafkas_for_every_code_and_for_codes_that_it_does_not_know() -> None:
    for code in range(-250, 250):
        ours, theirs = KafkaError(code), real.KafkaError(code)
        assert (ours.name(), ours.str(), repr(ours)) == (theirs.name(), theirs.str(), repr(theirs))


@pytest.mark.parametrize(
    "expression",
    [
        "KafkaError()",
        "KafkaError('x')",
        "KafkaError(None)",
        "KafkaError(1.5)",
        "KafkaError(True).code()",
        "KafkaError(error=1, reason='why')",
        "KafkaError(code=1)",
        "KafkaError(1, 'why', name='x')",
        "KafkaError(1, error=2)",
        "KafkaError(1, None)",
        "KafkaError(1, 2)",
        "KafkaError(1, b'why')",
        "KafkaError(1, '')",
        "KafkaError(1, 'a\\0b')",
        "KafkaError(1, 'why', 'a')",
        "KafkaError(1, 'why', True, True, True, True)",
        "KafkaError(2**31)",
        "KafkaError(-2**31 - 1)",
        "KafkaError(-2**31)",
        "KafkaError(2**63)",
        "str(KafkaError(1, 'why'))",
        "str(KafkaError(1, 'why', True, True, True))",
        "KafkaError(1, 'why', fatal=True).fatal()",
        "KafkaError(1, 'why', fatal=1).fatal()",
        "KafkaError(1, 'why', retriable=True).retriable()",
        "KafkaError(1, 'why', txn_requires_abort=True).txn_requires_abort()",
        "KafkaError(-185).retriable()",
        "bool(KafkaError(0))",
        "[KafkaError(1) == other for other in (1, 2, True, KafkaError(1, 'why'), KafkaError(2))]",
        "[KafkaError(1) != other for other in (1, 2, True, KafkaError(1, 'why'), KafkaError(2))]",
        "[KafkaError(1) < other for other in (1, 2, KafkaError(1), KafkaError(2))]",
        "[KafkaError(1) <= other for other in (0, 1, 2, KafkaError(1), KafkaError(2))]",
        "[KafkaError(1) > other for other in (0, 1, 2, KafkaError(0), KafkaError(2))]",
        "[KafkaError(1) >= other for other in (0, 1, 2, KafkaError(0), KafkaError(2))]",
        "1 == KafkaError(1)",
        "{KafkaError(1), KafkaError(1, 'why'), KafkaError(-185)}",
        "hash(KafkaError(-185))",
        "KafkaError(-185, 'why', True, False, True).__reduce__()",
        "pickle.loads(pickle.dumps(KafkaError(-185, 'why', True)))",
        "KafkaError(1).anything",
        "setattr(KafkaError(1), 'anything', 1)",
        "len(KafkaError(1))",
        "int(KafkaError(1))",
        "format(KafkaError(1), '10')",
        "KafkaException(KafkaError(1, 'why'))",
        "str(KafkaException(KafkaError(1, 'why')))",
        "KafkaException(KafkaError(1, 'why')).args",
        "KafkaException('a', 'b')",
        "KafkaException(a=1)",
        "KafkaException.__module__",
        "KafkaException.__bases__",
    ],
)
def test_an_error_behaves_as_the_real_one(expression: str) -> None:
    theirs, ours = outcomes(expression, REAL, OURS)
    assert ours == theirs


def test_an_error_is_equal_to_nothing_that_is_not_an_error_or_a_code() -> None:
    assert [KafkaError(1) == other for other in ("a", None, 1.0, [])] == [False] * 4
    assert [KafkaError(1) != other for other in ("a", None, 1.0, [])] == [True] * 4
    with pytest.raises(TypeError, match="'str' object cannot be interpreted as an integer"):
        sorted(["a", KafkaError(1)])


def test_the_exceptions_of_share_consumers_are_runtime_errors() -> None:
    for ours, theirs in (
        (IllegalStateException, real.IllegalStateException),
        (ConcurrentModificationException, real.ConcurrentModificationException),
    ):
        assert (ours.__bases__, ours.__module__) == (theirs.__bases__, theirs.__module__)
        assert ours.__name__ == theirs.__name__


@pytest.mark.parametrize("code", sorted(broker_errors.BY_CODE))
def test_a_brokers_error_keeps_its_code_and_gets_librdkafkas_text(code: int) -> None:
    mapped = kafka_error_of(broker_errors.error_for(code, "topic-0"))
    assert mapped.code() == code
    if real.KafkaError(code).name() != f"ERR_{code}?":
        assert mapped.str() == real.KafkaError(code).str()
    else:
        assert broker_errors.BY_CODE[code].name in mapped.str()


def test_a_code_that_nobody_knows_is_kept() -> None:
    assert kafka_error_of(broker_errors.error_for(999)).code() == 999


@pytest.mark.parametrize(
    ("exception", "code"),
    [
        (errors.UnknownSettingError("text"), "_INVALID_ARG"),
        (errors.InvalidSettingError("text"), "_INVALID_ARG"),
        (errors.ClosedError("text"), "_STATE"),
        (errors.MissingExtraError("feature", "extra"), "_UNSUPPORTED_FEATURE"),
        (errors.RecordTooLargeError("text"), "MSG_SIZE_TOO_LARGE"),
        (errors.TransactionStateError("text"), "_STATE"),
        (errors.PurgedError("text"), "_PURGE_INFLIGHT"),
        (errors.TransactionAbortedError("text"), "_PURGE_QUEUE"),
        (errors.KafkaConnectionError("text"), "_TRANSPORT"),
        (errors.BootstrapError("text"), "_ALL_BROKERS_DOWN"),
        (errors.SaslAuthenticationError("text"), "_AUTHENTICATION"),
        (errors.SaslMechanismError("text"), "_AUTHENTICATION"),
        (errors.CredentialsError("text"), "_AUTHENTICATION"),
        (errors.SecurityProtocolError("text"), "_SSL"),
        (errors.HostNameError("text"), "_SSL"),
        (errors.KafkaTimeoutError("text"), "_TIMED_OUT"),
        (errors.BufferFullError("text"), "_QUEUE_FULL"),
        (errors.LogTruncationError("topic", 0, 10, 5), "_LOG_TRUNCATION"),
        (errors.ImpossibleOffsetError("text"), "_INCONSISTENT"),
        (errors.CorruptBatchError("text"), "_BAD_MSG"),
        (errors.NoCommonVersionError("text"), "_UNSUPPORTED_FEATURE"),
        (TimeoutError("text"), "_TIMED_OUT"),
        (ConnectionResetError("text"), "_TRANSPORT"),
        (RuntimeError("text"), "_FAIL"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value,
)
def test_an_error_of_the_client_has_the_nearest_code_and_its_own_text(
    exception: Exception, code: str
) -> None:
    mapped = kafka_error_of(exception)
    assert (mapped.name(), mapped.str()) == (code, str(exception))
    assert not mapped.fatal()
    assert not mapped.retriable()


def test_every_class_of_error_has_a_code_of_its_own_choosing() -> None:
    def subclasses(kind: type[errors.BarnabasError]) -> set[type[errors.BarnabasError]]:
        return {kind}.union(*(subclasses(sub) for sub in kind.__subclasses__()))

    local = {
        kind
        for kind in subclasses(errors.BarnabasError)
        if kind.__module__ == "barnabas.errors" and not issubclass(kind, errors.BrokerError)
    }
    unmapped = {kind for kind in local if kafka_error_of(kind.__new__(kind)).name() == "_FAIL"}
    assert unmapped == {errors.BarnabasError, errors.TransactionFailedError}


def test_a_failed_transaction_has_the_code_of_what_failed_and_asks_for_an_abort() -> None:
    error = errors.TransactionFailedError("it failed")
    error.__cause__ = broker_errors.error_for(10)
    mapped = kafka_error_of(error, transactional=True)
    assert (mapped.name(), mapped.txn_requires_abort()) == ("MSG_SIZE_TOO_LARGE", True)
    assert not kafka_error_of(error).txn_requires_abort()


def test_a_fenced_transactional_producer_is_fatal() -> None:
    mapped = kafka_error_of(broker_errors.error_for(90), transactional=True)
    assert (mapped.name(), mapped.fatal()) == ("_FENCED", True)


def test_transactional_calls_say_whether_they_may_be_made_again() -> None:
    assert kafka_error_of(errors.KafkaTimeoutError("text"), transactional=True).retriable()
    assert not kafka_error_of(errors.TransactionStateError("text"), transactional=True).retriable()


def test_an_exception_that_carries_an_error_gives_that_error() -> None:
    error = KafkaError(KafkaError._STATE, "why")
    assert kafka_error_of(KafkaException(error)) is error


def test_help_lists_the_constants_with_their_texts() -> None:
    assert KafkaError.__doc__ is not None
    assert "_PARTITION_EOF" in KafkaError.__doc__
    assert "Broker: No more messages" in KafkaError.__doc__
