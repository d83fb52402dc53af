"""Somebody at the gateway's address who answers what a test tells it: a proxy, a fleet in trouble, or nobody."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from socket import SO_LINGER, SOL_SOCKET
from typing import Any

Say = Callable[[str, int], bytes | None]
"""From the request's first line and its number: the whole answer; None hangs up."""


def answer(status: int, body: Any, **headers: str) -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = "\r\n".join([f"HTTP/1.1 {status} Said", f"content-length: {len(content)}", *lines])
    return f"{head}\r\n\r\n".encode() + content


def failure(code: str, status: int, **also: Any) -> bytes:
    error: dict[str, Any] = {
        "code": code,
        "blame": "infrastructure",
        "message": "said",
        "rollout_id": None,
        "admitted": "no",
    }
    error |= {"retryable": True, "tainted": False, "evidence": {}, **also}
    return answer(status, {"error": error}, retry_after="0")


def opened(**also: Any) -> bytes:
    until = "2026-01-01T00:15:00.000Z"
    body = {"run": "r", "attempt": 1, "version": "v", "ahead": None, "lease_until": until}
    return answer(201, {**body, **also}, date="Thu, 01 Jan 2026 00:00:00 GMT")


def result(**also: Any) -> bytes:
    cut = {"stdout": False, "stderr": False, "total_bytes": 0}
    body = {
        "call_id": "c",
        "outcome": "completed",
        "code": None,
        "exit_code": 0,
        "signal": None,
        "output": "",
    }
    more = {"stdout": "", "stderr": "", "truncated": cut, "timed_out": False, "oom_killed": False}
    return answer(
        200, {**body, **more, "duration_ms": 1, "waited_ms": 1, "epoch": None, "replayed": False, **also}
    )


class Stranger:
    def __init__(self, say: Say) -> None:
        self.say = say
        self.url = ""
        self.heard: list[tuple[str, Any]] = []
        self.heads: list[str] = []

    def bodies(self, path: str) -> list[Any]:
        return [body for line, body in self.heard if path in line]

    async def listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = int(head.partition("content-length: ")[2].partition("\r\n")[0] or 0)
                content = await reader.readexactly(length)
                line = head.partition(" http/")[0]
                self.heads.append(head)
                is_json = "application/json" in head
                self.heard.append((line, json.loads(content) if content and is_json else content or None))
                said = self.say(line, len(self.heard))
                if said is None:
                    # A reset, as from a machine that has just been replaced.
                    writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
                    return
                writer.write(said)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def stranger(say: Say) -> AsyncGenerator[Stranger, None]:
    one = Stranger(say)
    server = await asyncio.start_server(one.listen, "127.0.0.1", 0)
    one.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield one
    finally:
        server.close()
