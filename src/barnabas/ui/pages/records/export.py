"""What a search finds, as a file."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import BinaryIO

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.pages.records.asking import ASKED_WRONGLY, asked_fields, file_name, reader_of, search_of
from barnabas.ui.pages.topics import described_topic
from barnabas.ui.records.exporting import KINDS, export, suffix_of

PIECE_BYTES = 1 << 18


async def exported(request: Request) -> Response:
    topic = await described_topic(request)
    access: ClusterAccess = request.app.state.access
    asked = asked_fields(request)
    kind = request.query_params.get("kind", "jsonl")
    reader = reader_of(request, topic, asked.get("partition", ""))
    folder = Path(tempfile.mkdtemp(prefix="barnabas-export-"))
    try:
        path = folder / f"records{suffix_of(kind)}"
        search = await search_of(request, topic.name, asked)
        async with access.exports:
            made = await export(reader, search, path)
        name = f"{file_name(topic.name)}{'' if made.is_whole else '-incomplete'}{path.suffix}"
        headers = {
            "Content-Disposition": f'attachment; filename="{name}"',
            "Content-Length": str(path.stat().st_size),
            "X-Records": str(made.records),
        }
        return StreamingResponse(_pieces(path.open("rb"), folder), media_type=KINDS[kind], headers=headers)
    except ASKED_WRONGLY as error:
        raise HTTPException(400, str(error)) from None
    finally:
        # An open file can still be read, also where nobody takes it to its end. Windows deletes it later.
        shutil.rmtree(folder, ignore_errors=True)


async def _pieces(file: BinaryIO, folder: Path) -> AsyncGenerator[bytes]:
    with file:
        while piece := await asyncio.to_thread(file.read, PIECE_BYTES):
            yield piece
    shutil.rmtree(folder, ignore_errors=True)


routes = [Route("/topics/{topic}/export", exported)]
