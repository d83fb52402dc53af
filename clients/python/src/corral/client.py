"""Where the fleet is, and what is asked of it as a whole. Holds no socket, so it may be built, copied and pickled freely."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from .errors import Misuse
from .exchange import Asked, Gateway, exchange, own_failure
from .pool import pool_of_loop
from .results import Limits, NotCorral, read_limits
from .routes import PREWARM, TOOLS
from .writing import json_text

# A burst of a step is served within minutes; a fleet that is upgraded, or a Redis that fails over, within this.
PATIENCE_S: Final = 900.0
# The gateway's own default. Below the 600 s that every proxy in front of it must grant.
HOLD_S: Final = 300.0


class Client:
    """A fleet's address and a key. What is not given is read from CORRAL_URL, CORRAL_KEY and CORRAL_RUN.

    `patience_s`: how long a call is tried again while it cannot run, in addition to its command's own time. `run`: which training
    job this is; without it the key's default run.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        run: str | None = None,
        *,
        patience_s: float = PATIENCE_S,
        hold_s: float = HOLD_S,
    ) -> None:
        self.gateway: Final = Gateway(
            url=_url(url or os.environ.get("CORRAL_URL")),
            key=_header(key or os.environ.get("CORRAL_KEY"), "key", "CORRAL_KEY"),
            run=_run(run or os.environ.get("CORRAL_RUN")),
            patience_s=patience_s,
            hold_s=hold_s,
        )

    async def prewarm(
        self,
        environment: str,
        count: int | None = None,
        *,
        items: Sequence[tuple[Mapping[str, Any] | None, int]] | None = None,
        needed_at: str | None = None,
        requires: Mapping[str, Any] | None = None,
    ) -> int:
        """Announces a burst, so that its sandboxes are ready when it comes. Returns how many are kept ready for it. `requires`:
        as its rollouts have it."""
        body: dict[str, Any] = {"environment": environment}
        if count is not None:
            body["count"] = count
        if items is not None:
            body["items"] = [{"item": item, "count": each} for item, each in items]
        if needed_at is not None:
            body["needed_at"] = needed_at
        if requires:
            body["requires"] = dict(requires)
        asked = Asked(PREWARM, PREWARM.path, text=json_text(body))
        reply = await exchange(await pool_of_loop(), self.gateway, asked)
        return int(reply.body.get("count", 0))

    async def tools(self, environment: str) -> dict[str, Any]:
        """The environment's tools and grader as a training job names them, with the schema of each tool's arguments."""
        asked = Asked(TOOLS, TOOLS.at(name=environment))
        return (await exchange(await pool_of_loop(), self.gateway, asked)).body

    async def limits(self, environment: str) -> Limits:
        """What the environment gives each command: its user, writable folders, longest timeout, kept output."""
        asked = Asked(TOOLS, TOOLS.at(name=environment))
        reply = await exchange(await pool_of_loop(), self.gateway, asked)
        try:
            return read_limits(reply.body["limits"])
        except (KeyError, NotCorral) as error:
            message = f"the fleet does not list the limits of an environment ({error}): it is older than this client"
            raise _misuse(message) from None


def _url(text: str | None) -> str:
    found = urlsplit(text or "")
    if found.scheme not in ("http", "https") or not found.hostname or found.query or found.fragment:
        raise _misuse(
            f"give the gateway's address as url, or in CORRAL_URL, like http://127.0.0.1:8700; got {text!r}"
        )
    return (text or "").rstrip("/")


def _run(text: str | None) -> str | None:
    return None if text is None else _header(text, "run", "CORRAL_RUN")


def _header(text: str | None, name: str, variable: str) -> str:
    # The value is a secret, so the message does not repeat it.
    if not text or not all("!" <= each <= "~" for each in text):
        raise _misuse(f"give a {name} without spaces, or set {variable}")
    return text


def _misuse(message: str) -> Misuse:
    return Misuse(own_failure("invalid_request", message, "caller"))
