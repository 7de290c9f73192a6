"""Words for what arguments and options take, as people read them: NUMBER, TEXT, FILE, and none for a switch.

Typer, such as 0.29, shows the types of Python, `<list[str]>` for instance. Where a typer does not, nothing is
changed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args, get_origin


def name_types_plainly(command: Any) -> None:
    """In the help of this command, not of those below it."""
    every = command.get_params

    def with_words(context: Any) -> list[Any]:
        parameters = every(context)
        for parameter in parameters:
            parameter.display_type_rich = _always(_beside_the_name(parameter))
            parameter._get_number_range_help_str = _always(_range_of(parameter))
            if parameter.param_type_name == "argument":
                parameter.get_usage_pieces = _always([word_of(parameter)])
        return parameters

    command.get_params = with_words


def word_of(parameter: Any) -> str:
    """What stands for its value: its metavar, or a word for its type; of an argument, its name."""
    if parameter.metavar:
        return parameter.metavar
    if parameter.param_type_name == "argument":
        word = parameter.name.upper().replace("_", "-")
        word += "..." if parameter.nargs == -1 else ""
        return word if parameter.required else f"[{word}]"
    descriptor = getattr(parameter, "type_descriptor", None)
    return "TEXT" if descriptor is None else _word_of_type(descriptor.annotation)


def _word_of_type(annotation: Any) -> str:
    if get_origin(annotation) is list:
        return _word_of_type(get_args(annotation)[0])
    if get_origin(annotation) is Literal:
        return "|".join(map(str, get_args(annotation)))
    return "NUMBER" if annotation in (int, float) else "FILE" if annotation is Path else "TEXT"


def _beside_the_name(parameter: Any) -> str | None:
    """An argument's own name says it, and a switch takes nothing."""
    if parameter.param_type_name == "argument" or getattr(parameter, "is_flag", False):
        return None
    return word_of(parameter)


def _range_of(parameter: Any) -> str | None:
    least, most = getattr(parameter, "min", None), getattr(parameter, "max", None)
    if least is not None and most is not None:
        return f"{least} to {most}"
    if least is not None:
        return f"{least} or more"
    return None if most is None else f"at most {most}"


def _always(value: Any) -> Callable[..., Any]:
    return lambda *_, **__: value
