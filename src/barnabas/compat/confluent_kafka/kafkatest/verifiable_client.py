# pyright: basic
"""What both verifiable clients share: events as lines of JSON on stdout, an orderly end on SIGTERM, settings.

Kafka's system tests read the events: each has a `name`, and `timestamp` in milliseconds since 1970. What is
for people goes to stderr. Must not know a client.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import signal
import socket
import sys
import time
from typing import Any, NoReturn

# What Java clients need and this one has built in.
JAVA_ONLY = {"key.serializer", "value.serializer", "key.deserializer", "value.deserializer"}


class VerifiableClient:
    """Base of the verifiable clients. `run` is true until SIGTERM or SIGINT comes, or `err` ends it."""

    def __init__(self, conf: dict[str, Any]) -> None:
        self.conf = conf
        self.conf.setdefault("client.id", f"python@{socket.gethostname()}")
        self.run = True
        signal.signal(signal.SIGTERM, self.sig_term)
        signal.signal(signal.SIGINT, self.sig_term)
        self.dbg(f"Pid is {os.getpid()}")

    def sig_term(self, sig: int, frame: Any) -> None:
        """Asks the program to end in order."""
        self.dbg(signal.Signals(sig).name)
        self.run = False

    @staticmethod
    def _timestamp() -> str:
        return time.strftime("%H:%M:%S", time.localtime())

    def dbg(self, s: object) -> None:
        """Says something to people who watch."""
        sys.stderr.write(f"% {self._timestamp()} DEBUG: {s}\n")

    def err(self, s: object, term: bool = False) -> None:
        """Says that something went wrong; with `term` the process ends here."""
        sys.stderr.write(f"% {self._timestamp()} ERROR: {s}\n")
        if term:
            sys.exit(1)

    def send(self, d: dict[str, Any]) -> None:
        """Tells the system test of an event."""
        event = {
            "timestamp": int(time.time() * 1000),
            "_time": str(datetime.datetime.now()),
            **d,
        }
        print(json.dumps(event), flush=True)

    @staticmethod
    def set_config(conf: dict[str, Any], args: dict[str, Any]) -> None:
        """Puts the arguments that are properties into `conf`: those named `conf_` or `topicconf_` and a
        property, and those whose name has a dot, as the properties of a file and of `-X` have."""
        for name, value in args.items():
            if value is None:
                continue
            if name.startswith("conf_"):
                conf[name.removeprefix("conf_")] = value
            elif name.startswith("topicconf_"):
                conf[name.removeprefix("topicconf_")] = value
            elif "." in name:
                conf[name] = value

    @staticmethod
    def read_config_file(path: str) -> dict[str, str]:
        """The properties in a file for Java clients, without those that only Java has."""
        properties: dict[str, str] = {}
        with open(path) as file:
            for line in file:
                text = line.strip()
                if not text or text[0] in "#!":
                    continue
                name, _, value = text.partition("=")
                if name.strip() not in JAVA_ONLY:
                    properties[name.strip()] = value.strip()
        return properties


class ExtraProperty(argparse.Action):
    """`-X name=value`: gathers properties under `extra_conf`."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: Any = None
    ) -> None:
        name, separator, value = values.partition("=")
        if not separator:
            parser.error(f"argument {option}: {values!r} is no name=value")
        gathered = getattr(namespace, self.dest) or {}
        setattr(namespace, self.dest, {**gathered, name: value})


def add_connection_arguments(parser: argparse.ArgumentParser, file_option: str) -> None:
    """The arguments that say where the brokers are, and how else to set the client up."""
    brokers = parser.add_mutually_exclusive_group(required=True)
    for option in ("--bootstrap-server", "--broker-list"):
        brokers.add_argument(option, dest="conf_bootstrap.servers", metavar="HOST:PORT,...")
    parser.add_argument(
        file_option, "--command-config", dest="config_file", metavar="FILE", help="file of properties"
    )
    parser.add_argument(
        "-X", dest="extra_conf", action=ExtraProperty, metavar="NAME=VALUE", help="Configuration property"
    )


def read_arguments(parser: argparse.ArgumentParser, argv: list[str] | None) -> dict[str, Any]:
    """The arguments by name. A property of `-X` wins over one with an option, this over one of the file."""
    args = {name: value for name, value in vars(parser.parse_args(argv)).items() if value is not None}
    extra = args.pop("extra_conf", {})
    path = args.pop("config_file", None)
    given = {name.removeprefix("topicconf_").removeprefix("conf_") for name in args}
    file: dict[str, str] = {}
    if path is not None:
        try:
            file = VerifiableClient.read_config_file(path)
        except OSError as error:
            _refuse(parser, f"cannot read the properties: {error}")
    return {**{name: value for name, value in file.items() if name not in given}, **args, **extra}


def _refuse(parser: argparse.ArgumentParser, what: str) -> NoReturn:
    parser.error(what)
