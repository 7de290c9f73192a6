"""A consumer is in a group with a name, or in none."""

from __future__ import annotations

import asyncio

import pytest

from barnabas import Consumer, aio
from barnabas.errors import InvalidSettingError

NOWHERE = "127.0.0.1:9"
EMPTY = pytest.mark.parametrize("group_id", ["", "  "])


@EMPTY
def test_a_group_without_a_name_is_refused_with_what_to_do(group_id: str) -> None:
    with pytest.raises(InvalidSettingError, match="give the group a name, or leave group_id out"):
        Consumer(NOWHERE, group_id=group_id)


@EMPTY
def test_a_group_without_a_name_is_refused_by_asyncio_too(group_id: str) -> None:
    async def main() -> None:
        with pytest.raises(InvalidSettingError, match="give the group a name, or leave group_id out"):
            aio.Consumer(NOWHERE, group_id=group_id)

    asyncio.run(main())
