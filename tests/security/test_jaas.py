"""Java's login modules, as people have them in their properties files."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.credentials import Secret
from barnabas.errors import InvalidSettingError
from barnabas.net.sasl import jaas
from barnabas.net.security import Security
from barnabas.settings.table import AdminConfig, SaslMechanism, load

MODULES = "org.apache.kafka.common.security"


@pytest.mark.parametrize(
    ("text", "mechanism", "settings"),
    [
        (
            f'{MODULES}.plain.PlainLoginModule required username="alice" password="a;b=\\"c\\"";',
            "PLAIN",
            {"sasl_username": "alice", "sasl_password": Secret('a;b="c"')},
        ),
        (
            f"{MODULES}.scram.ScramLoginModule  required\n  username=alice\n  password='x y'\n"
            '  tokenauth="true" ;\n',
            "SCRAM-SHA-512",
            {"sasl_username": "alice", "sasl_password": Secret("x y"), "sasl_tokenauth": True},
        ),
        (
            f'{MODULES}.oauthbearer.OAuthBearerLoginModule required clientId="me" clientSecret="s" '
            'scope="all" extension_tenant="north";',
            "OAUTHBEARER",
            {
                "sasl_oauthbearer_client_credentials_client_id": "me",
                "sasl_oauthbearer_client_credentials_client_secret": Secret("s"),
                "sasl_oauthbearer_scope": "all",
                "sasl_oauthbearer_extensions": ("tenant=north",),
            },
        ),
        (
            'software.amazon.msk.auth.iam.IAMLoginModule required awsProfileName="dev";',
            "AWS_MSK_IAM",
            {"aws_profile": "dev"},
        ),
        (
            "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true "
            'keyTab="/etc/me.keytab" principal="me@EXAMPLE" serviceName="kafka";',
            "GSSAPI",
            {
                "sasl_kerberos_keytab": "/etc/me.keytab",
                "sasl_kerberos_principal": "me@EXAMPLE",
                "sasl_kerberos_service_name": "kafka",
            },
        ),
        ("software.amazon.msk.auth.iam.IAMLoginModule required;", "AWS_MSK_IAM", {}),
    ],
)
def test_a_login_module_is_the_settings_that_say_the_same(
    text: str, mechanism: SaslMechanism, settings: dict[str, Any]
) -> None:
    assert jaas.settings(Secret(text), mechanism) == settings


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it must be: Module required"),
        ('PlainLoginModule required username="hidden"', "it must be: Module required"),
        ('PlainLoginModule username="hidden";', "it must be: Module required"),
        ('PlainLoginModule required username "hidden";', 'each option must be name="value"'),
        ('PlainLoginModule required password="hidden;', "a quotation mark is missing"),
        ('A required a="hidden"; B required b="hidden";', "there must be one module only"),
        ('OtherModule required password="hidden";', "OtherModule is none of PlainLoginModule"),
        ('ScramLoginModule required password="hidden";', "not for sasl_mechanism='PLAIN'"),
        ('PlainLoginModule required pasword="hidden";', "has no option 'pasword' here; it has username"),
    ],
)
def test_what_cannot_be_read_is_refused_without_being_quoted(text: str, reason: str) -> None:
    with pytest.raises(InvalidSettingError) as caught:
        jaas.settings(Secret(text), "PLAIN")
    assert reason in str(caught.value)
    assert "hidden" not in str(caught.value)


def test_a_user_is_given_in_one_place() -> None:
    given = {
        "bootstrap_servers": "host:9092",
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_username": "alice",
        "sasl_jaas_config": 'PlainLoginModule required username="alice" password="hidden";',
    }
    with pytest.raises(InvalidSettingError, match="sasl_username is given twice, once in sasl_jaas_config"):
        Security(load(AdminConfig, given))
