"""That what Windows does not have keeps nobody from importing the clients there. What Python lacks on it is
taken away here; the kernel is tried where wheels for Windows are built."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import importlib, os, pkgutil, sys
import asyncio, concurrent.futures, ctypes, email, http.client, logging.config, multiprocessing, pathlib
import platform, random, selectors, shutil, signal, socket, ssl, subprocess, tempfile, threading, uuid
import urllib.request, webbrowser
import zipfile, mimetypes
import celpy, jsonata, pyarrow, rich, typer, httpx, kazoo.client, jsonschema_rs, fastavro, cryptography.x509
import google.protobuf, pytest
import anyio.from_thread, authlib.integrations.starlette_client, jinja2, starlette.testclient, uvicorn

for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "posix", "syslog"):
    sys.modules[name] = None
for name in ("register_at_fork", "fork", "pread", "pwrite", "preadv", "pwritev", "geteuid", "sendfile"):
    delattr(os, name)
for name in ("SIGKILL", "SIGSTOP", "SIGCONT", "SIGHUP", "SIGUSR1", "SIGALRM"):
    delattr(signal, name)
del socket.AF_UNIX
sys.platform = "win32"

import barnabas
skipped = sys.argv[1].split(",")
names = [module.name for module in pkgutil.walk_packages(barnabas.__path__, "barnabas.")]
names = [name for name in names if not name.startswith(tuple(skipped)) and not name.endswith("__main__")]
failed = []
for name in names:
    try:
        importlib.import_module(name)
    except BaseException as error:
        failed.append(f"{name}: {error!r}")
print(len(names), *failed, sep="\\n")
"""
# Spark's own modules are not asked, nor those that say on import which module they stand in for.
NOT_ASKED = ["barnabas.spark", "barnabas.compat.__main__", "barnabas._kernel"]


def test_all_modules_are_imported_where_python_has_neither_forks_nor_file_locks() -> None:
    command = [sys.executable, "-c", PROGRAM, ",".join(NOT_ASKED)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    count, *failed = done.stdout.splitlines()
    assert int(count) > 1000
    assert failed == []
