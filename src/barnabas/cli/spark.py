"""`barnabas spark`: what is done to an installed Spark, on the user's word only."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.options import AsJson, UsageError
from barnabas.cli.output import note, print_json
from barnabas.errors import MissingExtraError

app = typer.Typer(help="Prepare an installed Spark.", no_args_is_help=True)


@app.callback()
def spark() -> None:
    """With a callback the command keeps its name, though it is the only one."""


@app.command("precompile")
def precompile(
    spark_home: Annotated[
        Path | None,
        typer.Option(
            envvar="SPARK_HOME",
            metavar="FOLDER",
            help="The folder of Spark; that of the installed PySpark if left out.",
        ),
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Put back what PySpark came with.")] = False,
    as_json: AsJson = False,
) -> None:
    """Put compiled modules into PySpark's archives, so that streaming queries and workers start sooner.

    They are of use to the Python that runs this command, which has to be that of Spark's workers; any other
    goes on as before. A new release of PySpark brings its own archives: run it again then. No Spark should
    run on them meanwhile.
    """
    home = spark_home or _installed()
    try:
        from barnabas.spark import precompiling
    except ModuleNotFoundError as error:
        raise MissingExtraError("barnabas spark precompile", "spark") from error
    changed = [
        precompiling.restore_archive(each) if undo else precompiling.compile_archive(each)
        for each in precompiling.archives(home)
    ]
    if as_json:
        print_json(
            [
                {"path": str(each.path), "compiled_for": each.compiled_for, "modules": each.modules}
                for each in changed
            ]
        )
        return
    for each in changed:
        state = "as PySpark comes" if each.compiled_for is None else f"compiled for {each.compiled_for}"
        note(f"{each.path}: {state}" + (f", {each.modules} modules" if each.modules else ""))


def _installed() -> Path:
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise UsageError("PySpark is not installed here: name Spark's folder by --spark-home")
    return Path(found.origin).parent
