"""A process that plays scripts with one package, as its parent tells it: `python -m ... SIDE GENERATION`.

Reads lines from the standard input and writes lines to what was the standard output: each is the repr of a
tuple of literals. The package is the first on PYTHONPATH, or Barnabas's facade.
"""

import ast
import faulthandler
import importlib
import os
import signal
import sys
import threading

from tests.compat.kafka.differential.played.stage import Stage

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


def main():
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    side, generation = sys.argv[1:]
    if side == OURS:
        importlib.import_module("barnabas.compat").install("kafka", version=generation)
    parent = Parent()
    kafka = importlib.import_module("kafka")
    parent.tell("ready", kafka.__file__, kafka.__version__)
    while True:
        word = parent.hear()
        if word is None:
            return
        module, name, bootstrap = word
        function = getattr(importlib.import_module(module), name)
        seen = Stage(kafka, generation, bootstrap, parent.ask).play(function)
        parent.tell("seen", seen)


if __name__ == "__main__":
    main()
