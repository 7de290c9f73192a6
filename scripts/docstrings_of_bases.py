"""For mkdocstrings' reader of sources: a class whose text is another one's has it on the site too.

The reader runs nothing, so that `__doc__ = AvroSerializing.__doc__` is an attribute like any other to it.
"""

from __future__ import annotations

from typing import Any

import griffe


class DocstringsOfBases(griffe.Extension):
    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        self._give_to_all_in(pkg)

    def _give_to_all_in(self, holder: griffe.Module | griffe.Class) -> None:
        for member in holder.members.values():
            if member.is_alias:
                continue
            if isinstance(member, griffe.Class):
                self._give_to(member)
            if isinstance(member, griffe.Module | griffe.Class):
                self._give_to_all_in(member)

    def _give_to(self, receiver: griffe.Class) -> None:
        assigned = receiver.members.get("__doc__")
        if not isinstance(assigned, griffe.Attribute) or receiver.has_docstring:
            return
        name = str(assigned.value).removesuffix(".__doc__")
        giver = receiver.module[name]
        receiver.docstring = (giver.final_target if isinstance(giver, griffe.Alias) else giver).docstring
