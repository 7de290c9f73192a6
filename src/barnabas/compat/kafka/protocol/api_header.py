"""What is before requests and responses of kafka-python 3."""

from barnabas.compat.kafka_engine.wire.api_messages import ApiRequestHeader as RequestHeader
from barnabas.compat.kafka_engine.wire.api_messages import ApiResponseHeader as ResponseHeader

__all__ = ["RequestHeader", "ResponseHeader"]
