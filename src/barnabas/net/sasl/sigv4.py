"""AWS Signature Version 4 in a query string ("presigning"), as AWS documents it. Pure functions."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime
from urllib.parse import quote

from barnabas.credentials import AwsCredentials

ALGORITHM = "AWS4-HMAC-SHA256"
NO_PAYLOAD = hashlib.sha256(b"").hexdigest()


def presigned_query(
    credentials: AwsCredentials,
    *,
    host: str,
    path: str,
    parameters: Mapping[str, str],
    service: str,
    region: str,
    at: datetime,
    expires_seconds: int,
    payload_hash: str = NO_PAYLOAD,
) -> dict[str, str]:
    """`parameters` with all that makes them a signed GET request to `host`. `at` is in UTC."""
    day = at.strftime("%Y%m%d")
    scope = f"{day}/{region}/{service}/aws4_request"
    query = {
        **parameters,
        "X-Amz-Algorithm": ALGORITHM,
        "X-Amz-Credential": f"{credentials.access_key_id}/{scope}",
        "X-Amz-Date": at.strftime("%Y%m%dT%H%M%SZ"),
        "X-Amz-Expires": str(expires_seconds),
        "X-Amz-SignedHeaders": "host",
    }
    if credentials.session_token is not None:
        query["X-Amz-Security-Token"] = credentials.session_token
    encoded = sorted((quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in query.items())
    canonical = "\n".join(
        ["GET", path, "&".join(f"{name}={value}" for name, value in encoded), f"host:{host}", "", "host"]
    )
    request_hash = hashlib.sha256(f"{canonical}\n{payload_hash}".encode()).hexdigest()
    to_sign = f"{ALGORITHM}\n{query['X-Amz-Date']}\n{scope}\n{request_hash}"
    key = f"AWS4{credentials.secret_access_key}".encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    query["X-Amz-Signature"] = hmac.digest(key, to_sign.encode(), "sha256").hex()
    return query
