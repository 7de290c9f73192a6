"""All pages of a registry."""

from __future__ import annotations

from barnabas.ui.pages.registry import changes, subjects, versions

routes = [*subjects.routes, *changes.routes, *versions.routes]
