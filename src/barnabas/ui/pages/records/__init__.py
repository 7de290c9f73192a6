"""Records of a topic: searches and what comes of them, one record, and writing some."""

from __future__ import annotations

from barnabas.ui.pages.records import export, letters, listing, one

routes = [*listing.routes, *export.routes, *letters.routes, *one.routes]
