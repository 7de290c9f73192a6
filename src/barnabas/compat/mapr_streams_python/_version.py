"""The releases that programs may take this for: those that HPE's documentation names.

Other than later ones, `version` tells a text and a number, as `libversion` does.
"""


def version() -> tuple[str, int]:
    """The release of the client: as text, and as a number, 0xMMmmrr00."""
    return ("0.11.3", 0x000B0300)


def libversion() -> tuple[str, int]:
    """The release of librdkafka: as text, and as a number, 0xMMmmrrff."""
    return ("0.11.3", 0x000B03FF)
