"""Apache Kafka as published: its jars, the Java that runs them, and Kafka's own command-line tools.

Owns the folder where the jars are kept. Knows nothing of running brokers.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Generator
from functools import cache
from pathlib import Path

from barnabas.testing.process import MissingProgramError, ServerStartError

if sys.platform != "win32":
    import fcntl

DEFAULT_VERSION = "4.3.0"
LOWEST_JAVA = 17

_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>barnabas</groupId><artifactId>kafka-{version}</artifactId><version>1</version>
  <packaging>pom</packaging>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""
_DEPENDENCY = (
    "    <dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
)

# Both generations of log4j get a file: 3.x logs through reload4j, 4.x through log4j 2.
_LOG4J2 = """\
status=error
appender.console.type=Console
appender.console.name=console
appender.console.target={target}
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=[%d] %p %m (%c{{1}})%n
rootLogger.level={level}
rootLogger.appenderRef.console.ref=console
"""
_LOG4J1 = """\
log4j.rootLogger={level}, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target={target}
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=[%d] %p %m (%c{{1}})%n
"""


def java_command(program: str = "Apache Kafka") -> str:
    """The `java` of JAVA_HOME or of PATH, for `program`.

    Raises: MissingProgramError if there is none, or one too old.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if java is None:
        raise MissingProgramError(
            f"Java {LOWEST_JAVA} or later is needed to run {program} and was not found; "
            "install it: apt-get install openjdk-17-jdk-headless"
        )
    version = _java_version(java)
    if version < LOWEST_JAVA:
        raise MissingProgramError(
            f"Java {LOWEST_JAVA} or later is needed to run {program}, {java} is version {version}; "
            "install it: apt-get install openjdk-17-jdk-headless"
        )
    return java


@cache
def _java_version(java: str) -> int:
    output = subprocess.run(
        [java, "-version"], capture_output=True, text=True, timeout=60, check=False
    ).stderr
    match = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(match[1]) if match else 0


def home() -> Path:
    """The folder of jars and temporary brokers: BARNABAS_KAFKA_HOME, or `build/kafka` of a checkout, or the
    user's cache folder."""
    chosen = os.environ.get("BARNABAS_KAFKA_HOME")
    if chosen:
        return Path(chosen).absolute()
    checkout = Path(__file__).resolve().parents[3]
    if (checkout / "pyproject.toml").exists() and (checkout / "kernel").is_dir():
        return checkout / "build" / "kafka"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "barnabas" / "kafka"


class KafkaDistribution:
    """One release of Apache Kafka, fetched with Maven when it is first needed.

    Raises: MissingProgramError (no Java, no Maven), ServerStartError (Maven cannot get the jars).
    """

    def __init__(self, version: str = DEFAULT_VERSION) -> None:
        if not re.fullmatch(r"\d+(\.\d+){2,3}(-[\w.]+)?", version):
            raise ValueError(f"Kafka version {version!r} is not like 4.3.0")
        self.version = version
        self.directory = home() / version
        self.java = java_command()
        if not self._complete.exists():
            self._fetch()

    @property
    def has_zookeeper(self) -> bool:
        """Whether this release needs ZooKeeper, as those before 3.3 do, and comes with it."""
        return _release(self.version) < (3, 3)

    @property
    def jars(self) -> list[Path]:
        """All jars of the release, in the order of their names."""
        return sorted((self.directory / "libs").glob("*.jar"))

    @property
    def class_path(self) -> str:
        """The jars as Java's option `-cp` takes them."""
        # Jar by jar, in a fixed order: Java uses a class archive only with the class path it was made for.
        return os.pathsep.join(str(jar) for jar in self.jars)

    @property
    def class_archive(self) -> Path:
        """The class-data-sharing archive, which halves the time to start. Made for one Java version."""
        return self.directory / f"classes-{_java_version(self.java)}.jsa"

    def java_arguments(self, *, heap_mb: int, log_level: str, log_target: str) -> list[str]:
        """`java` with everything before the main class."""
        arguments = [
            self.java,
            f"-Xmx{heap_mb}m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Xshare:auto",
            "-Xlog:cds=off",
            "-Xlog:cds+dynamic=off",
            "-Djava.awt.headless=true",
            *self._logging(log_level, log_target),
            "-cp",
            self.class_path,
        ]
        if self.class_archive.exists() and self.class_archive.stat().st_size > 0:
            arguments.insert(1, f"-XX:SharedArchiveFile={self.class_archive}")
        return arguments

    def tool(
        self, class_name: str, *arguments: str, input: str | None = None, timeout: float = 120
    ) -> subprocess.CompletedProcess[str]:
        """Runs one of Kafka's command-line classes, such as `org.apache.kafka.tools.TopicCommand`.

        `timeout` is in seconds; what the class logs at level ERROR is on stderr.
        Raises: subprocess.TimeoutExpired. The exit status is for the caller to look at.
        """
        java = self.java_arguments(heap_mb=256, log_level="ERROR", log_target="SYSTEM_ERR")
        words = [class_name, *arguments]
        done = subprocess.run(
            [*java, *words], input=input, capture_output=True, text=True, timeout=timeout, check=False
        )
        # Without Java's own arguments, whose class path would fill the report of a failed test.
        return subprocess.CompletedProcess(words, done.returncode, done.stdout, done.stderr)

    @contextlib.contextmanager
    def lock(self) -> Generator[None]:
        """Held by one process at a time. Raises: ServerStartError."""
        if sys.platform == "win32":
            raise ServerStartError("Apache Kafka is not run on Windows: use WSL, or an address of a broker")
        self.directory.mkdir(parents=True, exist_ok=True)
        with (self.directory / "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    @property
    def _complete(self) -> Path:
        return self.directory / "libs" / ".complete"

    def _fetch(self) -> None:
        with self.lock():
            if self._complete.exists():
                return
            maven = shutil.which("mvn")
            if maven is None:
                raise MissingProgramError(
                    f"Maven is needed to fetch Apache Kafka {self.version} and was not found; "
                    "install it: apt-get install maven"
                )
            libs = self.directory / "libs"
            pom = self.directory / "pom.xml"
            pom.write_text(_pom(self.version))
            started = time.monotonic()
            _say(f"fetching Apache Kafka {self.version} (some 55 MB) with Maven into {libs}")
            _run_maven(maven, pom, libs, self.version)
            self._complete.touch()
            _say(f"fetched Apache Kafka {self.version} in {time.monotonic() - started:.1f} s")

    def _logging(self, level: str, target: str) -> list[str]:
        options: list[str] = []
        for name, template, property_name in (
            (f"log4j2-{level}.properties", _LOG4J2, "log4j2.configurationFile"),
            (f"log4j-{level}.properties", _LOG4J1, "log4j.configuration"),
        ):
            path = self.directory / name
            text = template.format(
                level=level, target=target if template is _LOG4J2 else _log4j1_target(target)
            )
            if not path.exists() or path.read_text() != text:
                temporary = path.with_suffix(f".{os.getpid()}")
                temporary.write_text(text)
                temporary.replace(path)
            options.append(f"-D{property_name}=file:{path}")
        return options


def run_kafka_tool(
    class_name: str,
    *arguments: str,
    input: str | None = None,
    timeout: float = 120,
    version: str = DEFAULT_VERSION,
) -> subprocess.CompletedProcess[str]:
    """Runs one of Apache Kafka's command-line classes; see `KafkaDistribution.tool`."""
    return KafkaDistribution(version).tool(class_name, *arguments, input=input, timeout=timeout)


def _log4j1_target(target: str) -> str:
    return {"SYSTEM_ERR": "System.err", "SYSTEM_OUT": "System.out"}[target]


def _release(version: str) -> tuple[int, int]:
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def _pom(version: str) -> str:
    release = _release(version)
    scala = "2.13" if release >= (2, 4) else "2.12"
    wanted = [("org.apache.kafka", f"kafka_{scala}", version)]
    if release >= (3, 0):
        wanted.append(("org.apache.kafka", "kafka-tools", version))
    # The binding of SLF4J that Kafka's archive adds; without it there are no logs. 3.x and 0.x bring theirs.
    if release >= (4, 0):
        wanted.append(("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4"))
    elif (1, 0) <= release < (3, 0):
        wanted.append(("org.slf4j", "slf4j-reload4j", "1.7.36"))
    if release < (2, 0):
        # Until Java 11 this was a part of Java.
        wanted.append(("javax.xml.bind", "jaxb-api", "2.3.1"))
    dependencies = "\n".join(_DEPENDENCY.format(*names) for names in wanted)
    return _POM.format(version=version, dependencies=dependencies)


def _run_maven(maven: str, pom: Path, libs: Path, version: str) -> None:
    command = [maven, "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", "-DincludeScope=runtime"]
    command.append(f"-DoutputDirectory={libs}")
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        raise ServerStartError(
            f"Maven did not fetch Apache Kafka {version} within 600 s; is the network up?"
        ) from None
    if result.returncode != 0:
        # The first line may begin with terminal escapes, even in batch mode.
        lines = (result.stdout + result.stderr).splitlines()
        reasons = [reason for line in lines if (reason := line.partition("[ERROR]")[2].strip())]
        raise ServerStartError(
            f"Maven could not fetch Apache Kafka {version} (is the network up? does the version exist?): "
            + (reasons[0] if reasons else f"exit status {result.returncode}")
        )


def _say(text: str) -> None:
    print(f"barnabas: {text}", file=sys.stderr, flush=True)
