"""Signed tokens of any content are taken or refused, and nothing else comes out of their check."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from barnabas.net.sasl_server.oauthbearer import CheckedToken, InvalidTokenError
from barnabas.net.sasl_server.signed_tokens import TokenRules, signed_check

KEY = ec.generate_private_key(ec.SECP256R1())
DEEP = "[" * 100_000 + "]" * 100_000
LATER = "9999999999"


def checked(token: str, folder: Path) -> CheckedToken:
    keys = folder / "keys.json"
    keys.write_text(
        json.dumps({"keys": [{**ECAlgorithm.to_jwk(KEY.public_key(), as_dict=True), "kid": "k"}]})
    )
    check = signed_check(TokenRules(jwks_endpoint_url=keys.as_uri()))

    async def run() -> CheckedToken:
        return await check(token)

    return asyncio.run(run())


def signed(claims: str) -> str:
    return jwt.PyJWS().encode(claims.encode(), KEY, algorithm="ES256", headers={"kid": "k"})


@pytest.mark.parametrize("expires", ["1e308", "9" * 300])
def test_a_time_beyond_all_numbers_is_one_that_can_be_told(expires: str, tmp_path: Path) -> None:
    token = checked(signed(f'{{"sub":"alice","iat":1,"exp":{expires}}}'), tmp_path)
    assert token.principal == "alice"
    # In the 64 bits that answers have for it.
    assert token.expires_at_ms < 1 << 63


@pytest.mark.parametrize(
    "claims",
    [
        '{"sub":"alice","iat":1,"exp":1e999}',
        '{"sub":"alice","iat":1,"exp":NaN}',
        '{"sub":"alice","iat":NaN,"exp":' + LATER + "}",
        '{"sub":"alice","iat":1e999,"exp":' + LATER + "}",
        '{"sub":"alice","iat":1,"exp":[]}',
        '{"sub":"alice","iat":{},"exp":' + LATER + "}",
        '{"sub":"alice","iat":1,"exp":' + LATER + ',"nbf":1e999}',
        '{"sub":"alice","iat":1,"exp":' + LATER + ',"scope":7}',
        '{"sub":"alice","iat":1,"exp":' + LATER + ',"more":' + DEEP + "}",
        '{"sub":"\\ud800","iat":1,"exp":' + LATER + "}",
        DEEP,
    ],
    ids=lambda claims: claims[:60],
)
def test_claims_that_nobody_expects_are_refused(claims: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidTokenError):
        checked(signed(claims), tmp_path)


def test_a_header_of_any_depth_is_refused_before_anybody_has_signed_it(tmp_path: Path) -> None:
    header = base64.urlsafe_b64encode(f'{{"alg":"ES256","kid":{DEEP}}}'.encode()).decode().rstrip("=")
    with pytest.raises(InvalidTokenError):
        checked(f"{header}.e30.AA", tmp_path)
