"""What a script is: a function that takes the module `kafka` and a stage, and where it is played.

Owns the register of all scripts. This folder runs on Python 3.6 too, on which kafka-python 1.2.1 does: its
syntax is that one's. Must not know Barnabas, nor import `kafka` by itself.
"""

import importlib
import pkgutil

SCRIPTS = {}

GENERATIONS = ("1.2", "2", "3")
NONE = "none"
KAFKA = "kafka"
SECURE = "secure"


class Script:
    """`generations`: of kafka-python, on which it is played. `broker`: NONE; KAFKA; or SECURE, which wants to
    know by SASL who somebody is. `limit_seconds`: after which it counts as hanging."""

    def __init__(self, function, generations, broker, limit_seconds):
        self.name = function.__name__
        self.module = function.__module__
        self.function = function
        self.generations = generations
        self.broker = broker
        self.limit_seconds = limit_seconds


def script(*generations, broker=NONE, limit_seconds=60):
    """Registers a function as a script for these generations; without any, for all."""
    unknown = set(generations) - set(GENERATIONS)
    if unknown:
        raise ValueError(f"there are no generations {unknown}")

    def register(function):
        if function.__name__ in SCRIPTS:
            raise ValueError(f"two scripts are called {function.__name__}")
        SCRIPTS[function.__name__] = Script(function, generations or GENERATIONS, broker, limit_seconds)
        return function

    return register


def on_kafka(*generations, **options):
    """A script that needs a broker."""
    return script(*generations, broker=KAFKA, **options)


def on_secure(*generations, **options):
    return script(*generations, broker=SECURE, **options)


def all_scripts():
    """Every script of the folder `scripts`, in the order of their files and within them."""
    package = importlib.import_module("tests.compat.kafka.differential.played.scripts")
    names = [found.name for found in pkgutil.walk_packages(package.__path__, package.__name__ + ".")]
    for name in sorted(names):
        importlib.import_module(name)
    return list(SCRIPTS.values())
