"""Errors that only the Spark source and sink raise. They belong to the tree of `barnabas.errors`."""

from __future__ import annotations

from barnabas.errors import BarnabasError, ConfigError, KafkaTimeoutError


class InvalidOptionError(ConfigError):
    """An option of the Spark source or sink is missing, malformed or contradicts another one."""


class UnsupportedOptionError(ConfigError):
    """An option is not known, or is one of Spark's own Kafka connector that is not built yet."""


class DataLossError(BarnabasError):
    """Offsets that were asked for do not exist any more, and `failOnDataLoss` is true."""


class UnreadableRecordError(BarnabasError):
    """A key or a value is not what `key.format` or `value.format` say, and `mode` is failfast."""


class ForeignFirstBatchError(BarnabasError):
    """A checkpoint holds nothing but a first batch that Spark's own connector planned and did not finish."""


class ReadTimeoutError(KafkaTimeoutError):
    """A partition gave nothing for `kafkaConsumer.pollTimeoutMs` although its end was not reached."""


class StaleTaskError(BarnabasError):
    """A task of an exactly-once write began after a later batch of the same sink."""


class TransactionExpiredError(BarnabasError):
    """A batch took longer than kafka.transaction.timeout.ms. Nothing of it is committed."""


class PartialCommitError(BarnabasError):
    """Some transactions of a batch that was to be committed are lost, others are committed. See the option
    onPartialCommit."""


class InvalidRowsError(ConfigError):
    """The rows handed to the sink cannot become records: a column is missing, of the wrong type, or null."""
