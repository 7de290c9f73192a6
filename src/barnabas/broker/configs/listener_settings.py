"""The broker's settings of listeners, TLS and SASL: Kafka's names, types and defaults.

Those that begin with `listener.name.` are of one listener, or of one mechanism on it. What a setting does is
with whoever reads it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from barnabas.broker.configs.setting_kinds import Setting, SettingType, table_of

_INT, _LONG, _BOOLEAN = SettingType.INT, SettingType.LONG, SettingType.BOOLEAN
_STRING, _LIST, _PASSWORD = SettingType.STRING, SettingType.LIST, SettingType.PASSWORD
_MECHANISMS = "plain|scram-sha-256|scram-sha-512|oauthbearer|gssapi"
_PREFIXED = re.compile(rf"listener\.name\.[\w-]+?\.(?:(?:{_MECHANISMS})\.)?(.+)")


def _fixed(name: str, kind: SettingType, default: str, doc: str, **rules: Any) -> Setting:
    return Setting(name, kind, default, doc, dynamic=False, **rules)


LISTENER_SETTINGS = table_of(
    _fixed("advertised.listeners", _STRING, "", "The addresses that clients are told, if others."),
    _fixed("connection.failed.authentication.delay.ms", _INT, "100", "How long a refusal waits.", low=0),
    _fixed("connections.max.reauth.ms", _LONG, "0", "Longest session of SASL; 0 is without limit.", low=0),
    _fixed(
        "delegation.token.expiry.check.interval.ms", _LONG, "3600000", "How often expired tokens go.", low=1
    ),
    _fixed("delegation.token.expiry.time.ms", _LONG, "86400000", "How long a token lives unrenewed.", low=1),
    _fixed("delegation.token.max.lifetime.ms", _LONG, "604800000", "How long a token lives at most.", low=1),
    _fixed("delegation.token.secret.key", _PASSWORD, "", "What tokens are made of; empty: there are none."),
    _fixed("inter.broker.listener.name", _STRING, "", "Kept for configurations of Kafka's."),
    _fixed("listener.security.protocol.map", _STRING, "", "What is spoken on each listener."),
    _fixed("listeners", _LIST, "", "NAME://host:port of each listener; empty: one by host and port."),
    _fixed("sasl.enabled.mechanisms", _LIST, "PLAIN", "Mechanisms that are taken; Kafka's are GSSAPI."),
    _fixed("sasl.jaas.config", _PASSWORD, "", "Users of PLAIN and options of OAUTHBEARER, in JAAS."),
    _fixed("sasl.mechanism.controller.protocol", _STRING, "GSSAPI", "Kept for configurations of Kafka's."),
    _fixed("sasl.mechanism.inter.broker.protocol", _STRING, "GSSAPI", "Kept for such as well."),
    _fixed("sasl.server.max.receive.size", _INT, "524288", "Largest frame before a login.", low=1),
    _fixed("security.inter.broker.protocol", _STRING, "PLAINTEXT", "Kept for configurations of Kafka's."),
    _fixed("ssl.cipher.suites", _LIST, "", "Cipher suites that are taken; empty: all."),
    _fixed(
        "ssl.client.auth",
        _STRING,
        "none",
        "Whether clients show certificates.",
        choices=("none", "requested", "required"),
    ),
    _fixed("ssl.enabled.protocols", _LIST, "TLSv1.2,TLSv1.3", "Versions of TLS that are taken."),
    _fixed("ssl.key.password", _PASSWORD, "", "What the private key is encrypted with."),
    _fixed("ssl.keystore.certificate.chain", _PASSWORD, "", "The certificates as a PEM text."),
    _fixed("ssl.keystore.key", _PASSWORD, "", "The private key as a PEM text."),
    _fixed("ssl.keystore.location", _STRING, "", "The file of key and certificates: PEM or PKCS12."),
    _fixed("ssl.keystore.password", _PASSWORD, "", "Of a PKCS12 store."),
    _fixed("ssl.keystore.type", _STRING, "JKS", "PEM, PKCS12 or JKS; a file shows what it is."),
    _fixed("ssl.principal.mapping.rules", _STRING, "DEFAULT", "From certificates' names to users."),
    _fixed("ssl.protocol", _STRING, "TLSv1.3", "The newest version of TLS."),
    _fixed("ssl.truststore.certificates", _PASSWORD, "", "Authorities of clients as a PEM text."),
    _fixed("ssl.truststore.location", _STRING, "", "The file of clients' authorities: PEM or PKCS12."),
    _fixed("ssl.truststore.password", _PASSWORD, "", "Of a PKCS12 store."),
    _fixed("ssl.truststore.type", _STRING, "JKS", "PEM, PKCS12 or JKS; a file shows what it is."),
)


def prefixed_setting(name: str) -> Setting | None:
    """The setting of one listener by its whole name, if there is such a one."""
    found = _PREFIXED.fullmatch(name)
    base = None if found is None else LISTENER_SETTINGS.get(found[1])
    return None if base is None else replace(base, name=name)
