"""A load balancer for gateways: a connection ends with its gateway, and a new one waits for a gateway that is up."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

LOOK_S = 0.1


@asynccontextmanager
async def balancer(gateway: str) -> AsyncGenerator[str]:
    """Its own address, in place of the gateway's."""
    port = urlsplit(gateway).port
    carrying: set[asyncio.Task[None]] = set()

    def accept(reader: StreamReader, writer: StreamWriter) -> None:
        carrying.add(asyncio.create_task(_carry(port, reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for each in carrying:
            each.cancel()
        # Clients keep idle connections for minutes.
        await asyncio.gather(*carrying, return_exceptions=True)


async def _carry(port: int | None, reader: StreamReader, writer: StreamWriter) -> None:
    there, back = await _connected(port)
    pumps = [asyncio.create_task(_pump(*each)) for each in ((reader, back), (there, writer))]
    try:
        # Either side's end is the other's.
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in pumps:
            each.cancel()
        back.close()
        writer.close()


async def _connected(port: int | None) -> tuple[StreamReader, StreamWriter]:
    while True:
        try:
            return await asyncio.open_connection("127.0.0.1", port)
        except ConnectionError:
            await asyncio.sleep(LOOK_S)


async def _pump(reader: StreamReader, writer: StreamWriter) -> None:
    try:
        while chunk := await reader.read(64 * 1024):
            writer.write(chunk)
            await writer.drain()
    except ConnectionError:
        return
