"""What the real package's own modules share, and programs have come to use."""

from barnabas.compat.confluent_kafka._util.conversion_util import ConversionUtil
from barnabas.compat.confluent_kafka._util.validation_util import ValidationUtil

__all__ = ["ConversionUtil", "ValidationUtil"]
