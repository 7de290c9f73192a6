"""What requests and responses of fixed versions descend from, and their headers."""

from barnabas.compat.kafka_engine.wire.structs import (
    Request,
    RequestHeader,
    RequestHeaderV2,
    Response,
    ResponseHeader,
    ResponseHeaderV2,
)

__all__ = ["Request", "RequestHeader", "RequestHeaderV2", "Response", "ResponseHeader", "ResponseHeaderV2"]
