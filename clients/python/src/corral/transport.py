"""One request and what came back, with every exception of httpx, asyncio and the sockets below translated.

Nothing is tried again here. `Broken` says whether anything can have been sent.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

import httpx

CONNECT_S: Final = 10.0
WRITE_S: Final = 60.0
READ_CHUNK: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    url: str
    headers: dict[str, str]
    params: dict[str, str]
    content: bytes | None
    silent_s: float
    """How long the other side may say nothing before it counts as gone."""
    most_bytes: int | None = None
    """Of a good answer's body; null: all of it."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    content: bytes
    headers: httpx.Headers
    is_cut: bool = False
    """Whether there was more than `most_bytes`."""

    @property
    def retry_after_s(self) -> float | None:
        return _seconds_of(self.headers.get("retry-after"), self.said_at)

    @property
    def said_at(self) -> datetime:
        """The gateway's own clock, which is the one that its times are told by."""
        return _time_of(self.headers.get("date")) or datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Broken:
    """No answer. `is_ours`: our own configuration makes each try fail alike."""

    reason: str
    was_sent: bool
    is_ours: bool = False


async def send(http: httpx.AsyncClient, request: Request) -> Answer | Broken:
    opened = await open_answer(http, request)
    return opened if isinstance(opened, Broken) else await opened.whole(request.most_bytes)


def _broken(error: Exception) -> Broken:
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol | httpx.LocalProtocolError):
        return Broken(_told(error), was_sent=False, is_ours=True)
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout):
        return Broken(_told(error), was_sent=False, is_ours=_is_certificate(error))
    return Broken(_told(error), was_sent=True)


@dataclass(frozen=True, slots=True)
class Streamed:
    """An answer whose body is left to be read. To be closed, unless it is read as a whole."""

    response: httpx.Response

    @property
    def has_events(self) -> bool:
        kind = self.response.headers.get("content-type", "")
        return self.response.status_code == 200 and kind.startswith("text/event-stream")

    async def whole(self, most_bytes: int | None = None) -> Answer | Broken:
        response = self.response
        try:
            content, is_cut = await _read(response, most_bytes if response.is_success else None)
            return Answer(response.status_code, content, response.headers, is_cut)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            return _broken(error)
        finally:
            await self.close()

    async def chunks(self) -> AsyncIterator[bytes]:
        """Raises BrokenOff, and nothing else of the line below."""
        try:
            async for chunk in self.response.aiter_bytes():
                yield chunk
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except Exception as error:
            raise BrokenOff(_told(error)) from None

    async def close(self) -> None:
        # A connection that breaks at its end harms nothing.
        with suppress(Exception):
            await self.response.aclose()


class BrokenOff(Exception):
    """A body that ended in the middle."""


async def open_answer(http: httpx.AsyncClient, request: Request) -> Streamed | Broken:
    timeout = httpx.Timeout(connect=CONNECT_S, write=WRITE_S, read=request.silent_s, pool=None)
    try:
        asked = http.build_request(
            request.method,
            request.url,
            headers=request.headers,
            params=request.params,
            content=request.content,
            timeout=timeout,
        )
        return Streamed(await http.send(asked, stream=True))
    except asyncio.CancelledError:
        raise
    # httpx names most of what can happen, and what it lets through (anyio's, the loop's own) is no better known.
    except Exception as error:
        return _broken(error)


async def _read(response: httpx.Response, most_bytes: int | None) -> tuple[bytes, bool]:
    read = bytearray()
    async for chunk in response.aiter_bytes(READ_CHUNK):
        read += chunk
        if most_bytes is not None and len(read) > most_bytes:
            return bytes(read[:most_bytes]), True
    return bytes(read), False


def _told(error: Exception) -> str:
    said = str(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _is_certificate(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError) or "CERTIFICATE_VERIFY_FAILED" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _time_of(text: str | None) -> datetime | None:
    try:
        return None if text is None else parsedate_to_datetime(text)
    except ValueError:
        return None


def _seconds_of(text: str | None, said_at: datetime) -> float | None:
    """`retry-after` is seconds from us, and may be a date from somebody in between."""
    if text is None:
        return None
    if text.strip().isdigit():
        return float(text)
    until = _time_of(text)
    return None if until is None else max(0.0, (until - said_at).total_seconds())


def socket_options() -> list[tuple[int, int, int]]:
    """Keep-alive: a request may be held in silence for minutes, and a machine that is gone says nothing either. It is
    found out within a minute: 30 s of silence, then three questions 10 s apart."""
    wanted = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
    known = [(getattr(socket, name), value) for name, value in wanted.items() if hasattr(socket, name)]
    return [
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        *((socket.IPPROTO_TCP, name, value) for name, value in known),
    ]
