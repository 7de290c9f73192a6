"""Apicurio Registry, a schema registry of other people's, which speaks Confluent's REST API: out of its
published archive, with its data in memory."""

from __future__ import annotations

import fcntl
import os
import subprocess
import tarfile
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from barnabas.testing.distribution import home, java_command
from barnabas.testing.process import KeptPorts, ServerProcess, wait_until_ready

# The last line that runs on Java 17.
VERSION = "2.6.13.Final"
START_TIMEOUT_SECONDS = 120.0


def fetched() -> Path:
    """The folder of its jars."""
    folder = home().parent / "apicurio" / VERSION
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not (folder / ".complete").exists():
            command = ["mvn", "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"]
            command += [f"-Dartifact=io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all"]
            subprocess.run([*command, f"-DoutputDirectory={folder.parent}"], check=True, timeout=600)
            archive = folder.parent / f"apicurio-registry-app-{VERSION}-all.tar.gz"
            with tarfile.open(archive) as packed:
                packed.extractall(folder, filter="data")
            archive.unlink()
            (folder / ".complete").touch()
    return folder


class Apicurio:
    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="barnabas-apicurio-")
        self._ports = KeptPorts()
        port = self._ports.take()[0]
        self.url = f"http://127.0.0.1:{port}/apis/ccompat/v7"
        jar = fetched() / f"apicurio-registry-app-{VERSION}-runner.jar"
        arguments = ["-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        arguments += ["-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={port}"]
        self._process = ServerProcess(
            [java_command("Apicurio Registry"), *arguments, "-jar", str(jar)],
            Path(self._folder.name) / "apicurio.log",
            environment={"HOME": os.environ.get("HOME", self._folder.name)},
        )
        wait_until_ready(self._process, f"Apicurio on {self.url}", self._is_ready, START_TIMEOUT_SECONDS)

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/subjects", timeout=5) as answer:
                return answer.status == 200
        except (OSError, urllib.error.URLError):
            return False

    def close(self) -> None:
        self._process.kill()
        self._ports.release()
        self._folder.cleanup()
