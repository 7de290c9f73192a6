"""The parent of a process that plays scripts: it tells what to play, and hears what was seen.

Words are lines on the standard input and on what was the standard output: each is the repr of a tuple of
literals. This folder runs on Python 3.6 too.
"""

import ast
import faulthandler
import importlib
import os
import signal
import sys
import threading

OURS = "ours"
GENUINE = "genuine"


class Parent:
    """The other end. Asked by one thread at a time."""

    def __init__(self):
        # What scripts print, or a package does, is no word to the parent.
        self._answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        self._lock = threading.Lock()

    def hear(self):
        """The parent's next word, or None once it is gone."""
        line = sys.stdin.readline()
        return ast.literal_eval(line) if line else None

    def tell(self, *words):
        self._answers.write(ascii(words) + "\n")
        self._answers.flush()

    def ask(self, name, *arguments, **named):
        with self._lock:
            self.tell("ask", name, arguments, named)
            is_answer, value = self.hear()
        if not is_answer:
            raise RuntimeError(f"{name}: {value}")
        return value


def serve(package_name, stage_of):
    """Plays what the parent names, until it is gone. `stage_of(package, place, ask)` makes a stage; `place`:
    what the theatre says of where the broker is, or None."""
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    parent = Parent()
    package = importlib.import_module(package_name)
    parent.tell("ready", package.__file__, package.__version__)
    while True:
        word = parent.hear()
        if word is None:
            return
        module, name, place = word
        function = getattr(importlib.import_module(module), name)
        seen = stage_of(package, place, parent.ask).play(function)
        parent.tell("seen", seen)
