"""What the page is told when it starts. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from barnabas.credentials import Secret
from barnabas.values import frozen


@frozen
class OidcSettings:
    """A login by OpenID Connect. `issuer`: its address, below which its configuration is. `public_url`: the
    page's address as browsers see it, where that is not the one they ask for. Who is in one of
    `write_groups`, by the claim `groups_claim`, may write."""

    issuer: str
    client_id: str
    client_secret: Secret
    scope: str = "openid profile email"
    groups_claim: str = "groups"
    write_groups: tuple[str, ...] = ()
    public_url: str | None = None

    def may_write(self, claims: Mapping[str, Any]) -> bool:
        """Whether an id token's claims say so."""
        said: Any = claims.get(self.groups_claim) or ()
        groups: list[Any] = said.split() if isinstance(said, str) else list(said)
        return any(group in self.write_groups for group in groups)


@frozen
class UiSettings:
    """`client`: keyword arguments of every Kafka client. `registry` and `registry_settings`: of a schema
    registry, if there is one. `faults`: where an embedded broker or a proxy takes faults. `listener`: where
    a PipelineListener of Spark serves. `checkpoints`: of streaming queries, as paths, or addresses such as
    `s3://bucket/delays`. `masked`: fields and headers whose values are not shown, `*` is all of
    them. `users`: a file as `barnabas registry-user` writes it; `oidc` in its place. `allowed_hosts`: names
    by which browsers may call the page, besides `host`."""

    client: Mapping[str, Any]
    host: str = "127.0.0.1"
    port: int = 0
    registry: str | None = None
    registry_settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    faults: str | None = None
    listener: str | None = None
    checkpoints: tuple[str, ...] = ()
    allows_writes: bool = False
    masked: tuple[str, ...] = ()
    users: Path | None = None
    oidc: OidcSettings | None = None
    allowed_hosts: tuple[str, ...] = ()
    refresh_seconds: float = 5.0
