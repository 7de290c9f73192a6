"""Drop-in modules: other Kafka clients' interfaces on Barnabas's core.

`from barnabas.compat import confluent_kafka` is all that a program needs that may be changed. For one that
must not, `install` makes `import confluent_kafka`, and any submodule of it, find the module here; `python -m
barnabas.compat app.py` runs a program so. Nothing is shadowed unless asked for, and only in that process.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import InspectLoader, Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType

from barnabas.errors import MisuseError

__all__ = ["FACADES", "install"]

FACADES = ("confluent_kafka", "kafka", "mapr_streams_python", "pykafka")
"""The modules that there are facades for."""

_PREFIX = f"{__name__}."


def install(*names: str, version: str | None = None) -> None:
    """From now on `import name` finds Barnabas's facade in this process: the same module objects as those in
    `barnabas.compat`. Without names, all of them.

    `version`: of kafka-python, whose generations differ: "1.2", "2" or "3". None is what the environment
    variable BARNABAS_KAFKA_PYTHON says, and "3" where that is not set.

    Call it before anything imports the module. Raises: MisuseError for a module that there is no facade for,
    or that is imported already; InvalidSettingError for a version that there is no facade for.
    """
    wanted = names or FACADES
    if version is not None:
        if "kafka" not in wanted:
            raise MisuseError(f"version={version!r} is of kafka-python, and kafka is not installed here")
        from barnabas.compat.kafka_engine import generations

        generations.choose(version)
    for name in wanted:
        if name not in FACADES:
            raise MisuseError(f"there is no facade for {name!r}: there are {', '.join(FACADES)}")
        imported = sys.modules.get(name)
        if imported is not None and imported is not sys.modules.get(_PREFIX + name):
            raise MisuseError(
                f"{name} is imported already, from {getattr(imported, '__file__', 'elsewhere')}: call "
                "barnabas.compat.install before anything imports it"
            )
    _FINDER.names.update(wanted)
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


class _FacadeFinder(MetaPathFinder):
    """Finds modules of the installed facades under the names of the originals."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in self.names:
            return None
        found = importlib.util.find_spec(_PREFIX + fullname)
        if found is None:
            return None
        is_package = found.submodule_search_locations is not None
        return ModuleSpec(fullname, _FacadeLoader(), origin=found.origin, is_package=is_package)


class _FacadeLoader(Loader):
    """Gives the facade's own module under a second name, in place of a copy of it."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(_PREFIX + spec.name)
        # The import system writes the second name's spec into the module, which is known by its first.
        self._own_spec = module.__spec__
        return module

    def get_code(self, fullname: str) -> CodeType | None:
        """What `python -m` runs."""
        found = importlib.util.find_spec(_PREFIX + fullname)
        loader = None if found is None else found.loader
        return loader.get_code(_PREFIX + fullname) if isinstance(loader, InspectLoader) else None

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._own_spec
        _rename_classes(module.__name__.removeprefix(_PREFIX).partition(".")[0])


def _rename_classes(facade: str) -> None:
    """Lets the classes of a facade say the original's module: pickles are then the same, either way."""
    own = _PREFIX + facade
    modules = [module for name, module in sys.modules.items() if f"{name}.".startswith(f"{own}.")]
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, type) and f"{value.__module__}.".startswith(f"{own}."):
                value.__module__ = value.__module__.removeprefix(_PREFIX)


_FINDER = _FacadeFinder()
