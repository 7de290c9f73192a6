"""What the page is told when it starts. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, cast

from barnabas.credentials import Secret
from barnabas.ui.roles import Role
from barnabas.values import frozen


@frozen
class OidcSettings:
    """A login by OpenID Connect. `issuer`: its address, below which its configuration is. By the claim
    `groups_claim`, who is in one of `operator_groups` is an operator, and who is in one of `admin_groups` an
    admin."""

    issuer: str
    client_id: str
    client_secret: Secret
    scope: str = "openid profile email"
    groups_claim: str = "groups"
    operator_groups: tuple[str, ...] = ()
    admin_groups: tuple[str, ...] = ()

    def role(self, claims: Mapping[str, Any]) -> Role:
        """As an id token's claims say."""
        said: Any = claims.get(self.groups_claim)
        if isinstance(said, str):
            said = said.split()
        groups = cast("list[Any]", said) if isinstance(said, list) else []
        if any(group in self.admin_groups for group in groups):
            return Role.ADMIN
        return Role.OPERATOR if any(group in self.operator_groups for group in groups) else Role.VIEWER


@frozen
class ClusterSettings:
    """One of several clusters that a page shows: what `UiSettings` has of the same names."""

    client: Mapping[str, Any]
    registry: str | None = None
    registry_settings: Mapping[str, Any] = field(default_factory=dict[str, Any])


@frozen
class UiSettings:
    """`client`: keyword arguments of every Kafka client. `registry` and `registry_settings`: of a schema
    registry, if there is one. `faults`: where an embedded broker or a proxy takes faults. `listener`: where
    a PipelineListener of Spark serves. `checkpoints`: of streaming queries, as paths, or addresses such as
    `s3://bucket/delays`. `masked`: fields and headers whose values are not shown, `*` is all of
    them. `users`: a file as `barnabas ui-user` writes it; `oidc` in its place. `allowed_hosts`: names
    by which browsers may call the page, besides `host`. `audit_log`: a file to which each change is
    appended as a line. `clusters`: several by name, in place of `client` and `registry`. `base_path`: what is
    before the page's own paths, such as `/kafka`. `public_url`: the page's address as browsers see it, where
    that is not the one they ask for. `forwarded_allow_ips`: addresses and networks of proxies, whose
    X-Forwarded-For and X-Forwarded-Proto are believed; `*` is all."""

    client: Mapping[str, Any] = field(default_factory=dict[str, Any])
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
    sample_seconds: float = 10.0
    """How often the lag of groups and queries is noted for charts."""
    audit_log: Path | None = None
    clusters: Mapping[str, ClusterSettings] = field(default_factory=dict[str, ClusterSettings])
    base_path: str | None = None
    public_url: str | None = None
    forwarded_allow_ips: tuple[str, ...] = ()
