"""One registry whose journal is in Kafka: the parts put together.

Owns nothing but their order. Knows nothing of command lines.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.errors import InvalidSettingError, MissingExtraError, MisuseError
from barnabas.listening import listening_socket
from barnabas.registry_server.access import Users, read_users
from barnabas.registry_server.deks.service import DekService
from barnabas.registry_server.journal.election import Instance
from barnabas.registry_server.journal.group import RegistryGroup
from barnabas.registry_server.journal.kafka import KafkaJournal
from barnabas.registry_server.server import RegistryServer
from barnabas.registry_server.service import RegistryService
from barnabas.registry_server.settings import ServerSettings, TlsSettings
from barnabas.settings.table import CommonConfig, load

if TYPE_CHECKING:
    from barnabas.registry_server.forwarding import Forwarding

WILDCARDS = ("0.0.0.0", "::")


class RegistryNode:
    """Made on the event loop that it belongs to. Raises: MissingExtraError, UnknownSettingError,
    InvalidSettingError."""

    def __init__(self, settings: ServerSettings) -> None:
        if not settings.client.get("bootstrap_servers"):
            raise InvalidSettingError("kafkastore.bootstrap.servers is missing")
        self._settings = settings
        # What is wrong with the settings is told before anything is begun.
        self._client_config = load(CommonConfig, settings.client)
        self._users = None if settings.users is None else Users(read_users(settings.users))
        self._tls = None if settings.tls is None else _uvicorn_tls(settings.tls)
        self._instance: Instance | None = None
        self._server: RegistryServer | None = None
        self._client: KafkaClient | None = None
        self._forwarding: Forwarding | None = None

    @property
    def url(self) -> str:
        """Where the others of its group reach it. Raises: MisuseError before `start`."""
        if self._instance is None:
            raise MisuseError("a registry has no URL before it is started")
        return self._instance.url

    async def start(self) -> None:
        """Returns when requests are answered. Raises: OSError, JournalError, MissingExtraError."""
        try:
            from barnabas.registry_server.forwarding import Forwarding
            from barnabas.registry_server.rest.app import RegistryApp
            from barnabas.registry_server.rest.guard import Guard
        except ImportError:
            raise MissingExtraError("a registry to run yourself", "registry-server") from None
        settings = self._settings
        listener = listening_socket(settings.host, settings.port, "a registry")
        self._instance = Instance(
            settings.host_name or (socket.gethostname() if settings.host in WILDCARDS else settings.host),
            listener.getsockname()[1],
            "http" if self._tls is None else "https",
            settings.is_eligible,
        )
        self._client = KafkaClient(self._client_config)
        group = RegistryGroup(self._client, settings.group_id, self._instance, settings.times)
        journal = KafkaJournal(settings.client, group, settings.journal)
        of_deks = replace(settings.journal, topic=settings.dek_topic)
        dek_journal = KafkaJournal(settings.client, group, of_deks)
        service = RegistryService(
            journal,
            deks=DekService(dek_journal, settings.kms_hosts),
            group_id=settings.group_id,
            default_level=settings.default_level,
            modes_change=settings.modes_change,
        )

        async def caught_up() -> None:
            await asyncio.gather(journal.read_to_end(), dek_journal.read_to_end())

        trusted = None if settings.tls is None else _trust(settings.tls)
        self._forwarding = Forwarding(caught_up, ssl_context=trusted)
        app: Any = RegistryApp(
            service, forward=self._forwarding, largest_body_bytes=settings.largest_body_bytes
        )
        if self._users is not None:
            app = Guard(app, self._users)
        self._server = RegistryServer(service, app, listener=listener, settings=self._tls)
        await self._server.start()
        service.cluster_id = await journal.cluster_id()

    async def close(self) -> None:
        """Answers what is asked at present, leaves the group and ends. Also after a `start` that failed."""
        if self._server is not None:
            await self._server.close()
        if self._forwarding is not None:
            await self._forwarding.close()
        if self._client is not None:
            await self._client.close()


def _uvicorn_tls(tls: TlsSettings) -> dict[str, Any]:
    """Raises: InvalidSettingError, as of files that are not what they should be."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _loaded(context, tls)
    required = {"NONE": ssl.CERT_NONE, "REQUESTED": ssl.CERT_OPTIONAL, "REQUIRED": ssl.CERT_REQUIRED}
    return {
        "ssl_certfile": tls.certificate,
        "ssl_keyfile": tls.key,
        "ssl_keyfile_password": tls.key_password,
        "ssl_ca_certs": None if tls.ca is None else str(tls.ca),
        "ssl_cert_reqs": required[tls.client_authentication],
    }


def _trust(tls: TlsSettings) -> ssl.SSLContext:
    """For asking the leader, which has a certificate as this one has."""
    context = ssl.create_default_context(cafile=None if tls.ca is None else str(tls.ca))
    _loaded(context, tls)
    return context


def _loaded(context: ssl.SSLContext, tls: TlsSettings) -> None:
    try:
        context.load_cert_chain(tls.certificate, tls.key, tls.key_password or "")
        if tls.ca is not None:
            context.load_verify_locations(tls.ca)
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(str(path) for path in (tls.certificate, tls.key, tls.ca) if isinstance(path, Path))
        raise InvalidSettingError(f"TLS cannot be made of {files}: {error}") from None
