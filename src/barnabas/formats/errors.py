"""What goes wrong with schemas of any format."""

from __future__ import annotations

from barnabas.errors import ConfigError


class SchemaError(ConfigError):
    """A schema is malformed, or has what no column can hold."""
