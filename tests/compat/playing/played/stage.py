"""What a script of any package works with: names, topics with records in them, a record of what it saw.

Owns the recording, and what is closed after the script. Topics, records and other truths of the broker are
the parent's to make and tell, by `ask`, since here is nothing but the package under test. Must not know which
package that is. This folder runs on Python 3.6 too.
"""

import contextlib
import importlib
import logging
import threading
import time
import traceback
import uuid

from tests.compat.playing.played.description import Describer

GIVE_UP_SECONDS = 40.0
UNREACHABLE = "127.0.0.1:1"
FAILED = "the script itself failed"
GAVE_UP = "gave up waiting for"


class BareStage:
    """One run of one script with one package. `ask(name, *arguments, **named)`: has the parent do something
    and gives its answer."""

    def __init__(self, package, bootstrap, ask):
        self.seen = []
        self.bootstrap = bootstrap or UNREACHABLE
        self.ask = ask
        self._package = package
        self._names = {self.bootstrap: "<bootstrap>"}
        if bootstrap is not None:
            self._names[self.bootstrap.rpartition(":")[2]] = "<port>"
        self._describer = Describer(self._names)
        self._thread = threading.get_ident()
        self._call = None
        self._to_close = []
        self._log = None

    # names

    def name(self, kind):
        """A name that nothing else has, recorded as `<kind>`, and numbered if there are several."""
        chosen = f"{kind}-{uuid.uuid4().hex[:12]}"
        taken = sum(1 for called in self._names.values() if called.startswith(f"<{kind}"))
        self._names[chosen] = f"<{kind}>" if taken == 0 else f"<{kind} {taken + 1}>"
        return chosen

    def call(self, name, called):
        """Records `name`, which this run made up, as `called`."""
        self._names[str(name)] = called

    def group(self):
        return self.name("group")

    def module(self, name):
        """A submodule, such as `errors` or `consumer.group`."""
        return importlib.import_module(f"{self._package.__name__}.{name}")

    # topics, by the parent

    def topic(self, partitions=1, **configs):
        """A fresh topic. Configs are named with underscores for dots."""
        name = self.name("topic")
        dotted = {key.replace("_", "."): value for key, value in configs.items()}
        self.ask("create_topic", name, partitions, dotted)
        return name

    def filled_topic(self, *values, partitions=1, **configs):
        """A topic with these values in partition 0, without keys, a millisecond apart."""
        name = self.topic(partitions, **configs)
        self.fill(name, *values)
        return name

    def fill(self, topic, *values, partition=0):
        """`values`: bytes, or a record as (key, value, headers)."""
        records = [value if isinstance(value, tuple) else (None, value, None) for value in values]
        self.ask("fill", topic, partition, records)

    def records_of(self, topic, partition=0):
        """What the broker has: (offset, key, value, headers, timestamp in ms) of each record."""
        return self.ask("records", topic, partition)

    # what was seen

    def record(self, label, value):
        try:
            described = self._describer.describe(value)
        except Exception as error:
            described = {"cannot be described": type(value).__name__, "since": repr(error)}
        self.seen.append((self._describer.text(label), described))

    def attempt(self, label, call, *args, **kwargs):
        """Records what the call returned or raised; returns its result, or None if it raised."""
        outer, self._call = self._call, label
        try:
            result = call(*args, **kwargs)
        except Exception as error:
            self.record(label, error)
            return None
        finally:
            self._call = outer
        self.record(label, result)
        return result

    def within(self, label, call, *args, **kwargs):
        """Like `attempt`, for a call whose result differs by chance: only what it raises is recorded."""
        outer, self._call = self._call, label
        try:
            return call(*args, **kwargs)
        except Exception as error:
            self.record(label, error)
            return None
        finally:
            self._call = outer

    def raised(self, label, call, *args, **kwargs):
        """Records the class of what a call raised, and no more, or that it raised nothing."""
        try:
            call(*args, **kwargs)
        except Exception as error:
            self.record(label, type(error))
        else:
            self.record(label, "raised nothing")

    def text(self, value):
        return self._describer.text(str(value))

    def callback(self, label, then=None, raises=None):
        """A function that records its arguments, in which call it was called, and whether in the script's
        thread. `then` is called with the arguments, and its result returned."""

        def called(*args, **kwargs):
            thread = "the script's thread" if threading.get_ident() == self._thread else "another thread"
            self.record(f"{label} in {thread}", [list(args), kwargs] if kwargs else list(args))
            if raises is not None:
                raise raises
            return then(*args, **kwargs) if then is not None else None

        return called

    def keep_log(self, level=logging.WARNING):
        """Collects what the package logs from now on, for `record_log`."""
        self._log = _LogOfAScript(level)
        logger = logging.getLogger(self._package.__name__.rpartition(".")[2])
        logger.addHandler(self._log)
        self.closing(lambda: logger.removeHandler(self._log))

    def record_log(self, label, *parts):
        """Whether there were lines that contain each of `parts`, with level and logger of the first."""
        for part in parts:
            found = [line for line in list(self._log.lines) if part in line[2]]
            self.record(f"{label}: {part}", found[0][:2] if found else "was not logged")

    def closing(self, close):
        """Calls `close` after the script, whatever it raises."""
        self._to_close.append(close)

    def play(self, function):
        """Runs a script, and ends what it began."""
        try:
            function(self._package, self)
        except Exception:
            self.record(FAILED, traceback.format_exc().splitlines()[-5:])
        finally:
            while self._to_close:
                with contextlib.suppress(Exception):
                    self._to_close.pop()()
        return list(self.seen)

    # waiting

    def until(self, condition, step=lambda: time.sleep(0.01), timeout=GIVE_UP_SECONDS):
        """Repeats `step` until `condition`; records that it gave up, which no script should."""
        deadline = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > deadline:
                self.record(GAVE_UP, getattr(condition, "__name__", "a condition"))
                return False
            step()
        return True

    def recorded(self, label, count=1):
        """Whether there are so many records whose label begins with `label`."""
        return lambda: sum(1 for seen, _ in list(self.seen) if seen.startswith(label)) >= count


class _LogOfAScript(logging.Handler):
    def __init__(self, level):
        super().__init__(level)
        self.lines = []

    def emit(self, record):
        self.lines.append((record.name, record.levelname, record.getMessage()))
