"""A Kerberos of MIT on this machine: a key distribution centre with its realm, keytabs and tickets."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from tests.waiting import wait_for

from barnabas.testing.process import ServerProcess, free_ports

REALM = "BARNABAS.TEST"
SERVICE = "kafka/127.0.0.1"
# Debian has the server's programs where only root looks for them.
PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])


class Kerberos:
    """Runs from entering the context to leaving it. `folder` is empty."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_ports(1)[0]
        self.settings = folder / "krb5.conf"
        """What KRB5_CONFIG has to name, and Java's `java.security.krb5.conf`."""
        self._server: ServerProcess | None = None
        self._environment = {
            **os.environ,
            "KRB5_CONFIG": str(self.settings),
            "KRB5_KDC_PROFILE": str(folder / "kdc.conf"),
        }

    def __enter__(self) -> Self:
        address = f"127.0.0.1:{self._port}"
        self.settings.write_text(
            f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n dns_lookup_realm = false\n"
            " dns_canonicalize_hostname = false\n rdns = false\n udp_preference_limit = 1\n"
            f"[realms]\n {REALM} = {{\n  kdc = {address}\n }}\n"
        )
        (self._folder / "kdc.conf").write_text(
            f"[realms]\n {REALM} = {{\n  database_name = {self._folder / 'principals'}\n"
            f"  key_stash_file = {self._folder / 'stash'}\n  supported_enctypes = aes256-cts:normal\n"
            f"  kdc_listen = {address}\n  kdc_tcp_listen = {address}\n }}\n"
        )
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "the master key")
        log = self._folder / "kdc.log"
        self._server = ServerProcess(
            [_found("krb5kdc"), "-n", "-r", REALM, "-P", str(self._folder / "pid")],
            log,
            environment=self._environment,
        )
        wait_for(lambda: "starting..." in log.read_text())
        return self

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.kill()

    def keytab(self, principal: str) -> Path:
        """A file with the key of a principal, who is added when first asked for."""
        path = self._folder / f"{principal.replace('/', '_')}.keytab"
        if not path.exists():
            self._run("kadmin.local", "-r", REALM, "addprinc", "-randkey", principal)
            self._run("kadmin.local", "-r", REALM, "ktadd", "-q", "-k", str(path), principal)
        return path

    def broker_settings(self, mechanisms: Sequence[str]) -> dict[str, str]:
        """What lets users in by Kerberos beside these mechanisms."""
        login = (
            "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true "
            f'isInitiator=false keyTab="{self.keytab(SERVICE)}" principal="{SERVICE}@{REALM}";'
        )
        listeners = ("sasl_plaintext", "sasl_ssl")
        return {
            "sasl.enabled.mechanisms": ",".join([*mechanisms, "GSSAPI"]),
            "sasl.kerberos.service.name": "kafka",
            **{f"listener.name.{name}.gssapi.sasl.jaas.config": login for name in listeners},
        }

    @property
    def java_options(self) -> list[str]:
        return [f"-Djava.security.krb5.conf={self.settings}"]

    def change_key(self, principal: str) -> None:
        """Keytabs made before are worth nothing any more."""
        self._run("kadmin.local", "-r", REALM, "change_password", "-randkey", principal)

    def ticket(self, principal: str, keytab: Path, cache: Path, *options: str) -> None:
        """What `kinit` leaves in the cache."""
        self._run("kinit", *options, "-c", str(cache), "-k", "-t", str(keytab), principal)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [_found(program), *arguments],
            env=self._environment,
            check=True,
            capture_output=True,
            timeout=60,
        )


def _found(program: str) -> str:
    path = shutil.which(program, path=PATH)
    assert path is not None, f"{program} is missing: make setup installs Debian's krb5-kdc"
    return path
