"""OAUTHBEARER with tokens from AWS: what its service is asked, and what is refused."""

from __future__ import annotations

import base64
import json
import os
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any
from unittest import mock

from tests.compat.differential.http_service import Answer, Asked, serve
from tests.compat.differential.script import script
from tests.compat.differential.stage import UNREACHABLE, Stage

CONFIG = "sasl.oauthbearer.config"
EXTENSIONS = "sasl.oauthbearer.extensions"
METHOD = "sasl.oauthbearer.method"
TYPE = "sasl.oauthbearer.metadata.authentication.type"
BASE = {
    "bootstrap.servers": UNREACHABLE,
    "security.protocol": "sasl_plaintext",
    "sasl.mechanism": "OAUTHBEARER",
    "log_level": 0,
}
AWS = {**BASE, METHOD: "oidc", TYPE: "aws_iam"}
NOWHERE = "/nowhere"
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "some-key",
    "AWS_SECRET_ACCESS_KEY": "some-secret",
    "AWS_SESSION_TOKEN": "some-session",
    "AWS_CONFIG_FILE": NOWHERE,
    "AWS_SHARED_CREDENTIALS_FILE": NOWHERE,
    "AWS_MAX_ATTEMPTS": "1",
}


class TokenService:
    """Answers GetWebIdentityToken; `asked` is what it was asked, headers and parameters of each."""

    def __init__(self, stage: Stage, answer: tuple[int, str]) -> None:
        self.asked: list[tuple[dict[str, str], dict[str, str]]] = []

        def answered(asked: Asked) -> Answer:
            self.asked.append((dict(asked.headers), dict(urllib.parse.parse_qsl(asked.body))))
            status, text = answer
            return Answer(status, "text/xml", text.encode())

        url = serve(stage, answered)
        self.config = f"region=us-east-1,audience=https://kafka,sts_endpoint={url}"


def _granted(subject: str | None) -> tuple[int, str]:
    claims = {} if subject is None else {"sub": subject}
    parts = [json.dumps(part).encode() for part in ({"alg": "none"}, claims)]
    token = ".".join([*(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts), "signature"])
    until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 300))
    return 200, (
        "<GetWebIdentityTokenResponse><GetWebIdentityTokenResult>"
        f"<WebIdentityToken>{token}</WebIdentityToken><Expiration>{until}</Expiration>"
        "</GetWebIdentityTokenResult></GetWebIdentityTokenResponse>"
    )


REFUSED = 403, "<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>"


def _with_keys_of_aws(stage: Stage) -> None:
    patch = mock.patch.dict(os.environ, ENVIRONMENT)
    patch.start()
    stage.closing(patch.stop)


@script(alone=True)
def awss_service_is_asked_for_tokens(kafka: ModuleType, stage: Stage) -> None:
    _with_keys_of_aws(stage)
    cases: dict[str, tuple[str, dict[str, Any]]] = {
        "plain": ("", {}),
        "all": (",duration_seconds=600,signing_algorithm=RS256,tag_b=c d,tag_a=,aws_debug=NONE", {}),
        "twice": (",region=eu-west-1,audience=other,tag_a=1,tag_a=2", {}),
        "extensions": ("", {EXTENSIONS: "logicalCluster=lkc,identityPoolId=pool"}),
        "another grant": ("", {"sasl.oauthbearer.grant.type": "urn:ietf:params:oauth:grant-type:jwt-bearer"}),
    }
    for label, (more, settings) in cases.items():
        service = TokenService(stage, _granted("me"))
        producer = stage.attempt(
            label, lambda case: kafka.Producer(case), {**AWS, CONFIG: service.config + more, **settings}
        )
        stage.closing(producer.close)
        headers, parameters = service.asked[0]
        stage.record(f"{label} asked", [len(service.asked), parameters])
        signed_by = headers["Authorization"].partition(", ")[0].split("/")
        del signed_by[1]
        stage.record(f"{label} signed", [signed_by, headers["X-Amz-Security-Token"]])


@script(alone=True)
def a_client_that_aws_gives_no_token_is_not_made(kafka: ModuleType, stage: Stage) -> None:
    _with_keys_of_aws(stage)
    services = [TokenService(stage, answer) for answer in (REFUSED, _granted(None))]
    with ThreadPoolExecutor(len(services)) as threads:
        # Each waits ten seconds.
        made = [threads.submit(kafka.Producer, {**AWS, CONFIG: service.config}) for service in services]
    for service, client in zip(services, made, strict=True):
        stage.attempt("made", client.result)
        # Confluent's asks again after ten seconds, just when it gives up: whether it comes to that is chance.
        stage.record("was asked", len(service.asked) > 0)


@script(alone=True)
def settings_of_awss_tokens_that_are_wrong_are_refused(kafka: ModuleType, stage: Stage) -> None:
    _with_keys_of_aws(stage)
    good = "region=us-east-1,audience=a"
    cases: dict[str, dict[str, Any]] = {
        "no method": {**BASE, TYPE: "aws_iam", CONFIG: good},
        "default method": {**BASE, TYPE: "aws_iam", METHOD: "default", CONFIG: good},
        "method of another case": {**AWS, METHOD: "OIDC", CONFIG: good},
        "method that is no text": {**AWS, METHOD: 5, CONFIG: good},
        "no config": AWS,
        "None": {**AWS, CONFIG: None},
        "no text": {**AWS, CONFIG: 5},
        "another property": {**AWS, CONFIG: good, "no.such.property": 1},
        "another property behind": {**AWS, CONFIG: "region", "no.such.property": 1},
        "extensions": {**AWS, CONFIG: good, EXTENSIONS: "nothing"},
        "of topics": {**BASE, "default.topic.config": {METHOD: "oidc", TYPE: "aws_iam", CONFIG: "region"}},
        "no mechanism": {**AWS, "security.protocol": "plaintext", CONFIG: "region"},
        "unsecured": {**AWS, CONFIG: good, "enable.sasl.oauthbearer.unsecure.jwt": True},
        "blank claim": {**AWS, CONFIG: good, "sasl.oauthbearer.sub.claim.name": " "},
    }
    for config in (
        "",
        " ",
        "region",
        "region=r",
        "audience=a",
        "region=r,audience=",
        "region=,audience=a",
        "region=r,audience=a,more=1",
        "region=r,audience=a,signing_algorithm=HS256",
        "region=r,audience=a,signing_algorithm=",
        "region=r,audience=a,duration_seconds=soon",
        "region=r,audience=a,duration_seconds=",
        "region=r,audience=a,duration_seconds=59",
        "region=r,audience=a,duration_seconds=3601",
        "region=r,audience=a,aws_debug=loud",
        "region=r,audience=a,sts_endpoint=",
        "region=r,audience=a,sts_endpoint=nowhere",
        "region=no region,audience=a",
        "region=r,audience=a,tag_=1",
        "region=r,audience=a," + ",".join(f"tag_{number}=1" for number in range(51)),
    ):
        cases[f"config {config[:60]!r}"] = {**AWS, CONFIG: config}
    makers = (
        (kafka.Producer, {}),
        (kafka.Consumer, {"group.id": "g"}),
        (kafka.ShareConsumer, {"group.id": "g"}),
        (stage.module("admin").AdminClient, {}),
    )
    for label, case in cases.items():
        for make, more in makers:
            stage.attempt(f"{label} {make.__name__}", make, {**case, **more})
    stage.attempt("no group", kafka.Consumer, {**AWS, CONFIG: "region"})
    stage.attempt("wrong callback", kafka.Producer, {**AWS, CONFIG: "region", "oauth_cb": 5})


@script(alone=True)
def an_oauth_cb_comes_before_awss_service(kafka: ModuleType, stage: Stage) -> None:
    asked = stage.callback("oauth_cb", then=lambda _: ("token", time.time() + 300))
    for label, settings in (("whole", {METHOD: "oidc", CONFIG: "region"}), ("half", {})):
        producer = kafka.Producer({**BASE, TYPE: "aws_iam", **settings, "oauth_cb": asked})
        stage.record(label, type(producer).__name__)
        producer.close()


@script(alone=True)
def without_boto3_aws_is_not_asked(kafka: ModuleType, stage: Stage) -> None:
    loaded = dict.fromkeys(("boto3", f"{kafka.__name__}._oauthbearer.aws.aws_autowire"))
    with mock.patch.dict("sys.modules", loaded):
        try:
            kafka.Producer({**AWS, CONFIG: "region"})
        except ImportError as error:
            # Each names its own package.
            stage.record("refused", str(error).partition("    pip install")[0])
