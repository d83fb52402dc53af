"""A request until it has an answer: what is tried again, after which pause, and until when.

Everything that is sent again is known by an id (the rollout's, the call's), so that it happens once. A failure is tried
again where the fleet says `retryable`, and so is no answer at all.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from .errors import Blame, CorralError, Failure, Misuse, Unavailable
from .failures import error_of
from .pool import Pool
from .results import NotCorral, read_failure
from .routes import Route
from .transport import Answer, Broken, Request, send
from .version import USER_AGENT

log = logging.getLogger("corral")

# The gateway answers within `wait_s`; what comes later than this is lost on the way.
OVERDUE_S: Final = 30.0
# Requests that are not held are answered within the 30 s for which the fleet tries by itself.
PROMPT_S: Final = 60.0
FIRST_PAUSE_S: Final = 0.2
LONGEST_PAUSE_S: Final = 5.0
# For a gateway that this process has never reached: longer than one takes to start again, and short for a wrong address.
FIRST_CONTACT_S: Final = 15.0
REPORT_EVERY_S: Final = 60.0


@dataclass(frozen=True)
class Gateway:
    """Where the fleet is and who asks. `patience_s`: how long a request is tried again; `hold_s`: `wait_s` at most."""

    url: str
    key: str = field(repr=False)
    run: str | None
    patience_s: float
    hold_s: float


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as the client thinks of it."""

    route: Route
    path: str
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    text: str | None = None
    content: bytes | None = None
    most_bytes: int | None = None
    silent_s: float = PROMPT_S
    is_watched: bool = False
    """Whether `waiting` logs why it takes so long."""
    is_probe: bool = False
    """Whether it is an adapter's own question, whose refusal says nothing of the rollout."""
    is_new_id: bool = False
    """Whether no other call can have its id: the client made it, or the fleet has accepted this one."""
    is_setup: bool = False
    """Whether it prepares the sandbox for the policy, and may run again in another one."""
    troubles: list[CorralError] = field(default_factory=list[CorralError])
    """What it has failed with since it last succeeded, oldest first. If a caller stops waiting while there is an entry, it was
    not the command that took so long."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A good answer: 200, 201, or 202 for work that goes on."""

    status: int
    body: dict[str, Any]
    answer: Answer


@dataclass(frozen=True, slots=True)
class Again:
    """Worth another try after a pause; `error` is what it was, where no time is left for one."""

    error: CorralError
    retry_after_s: float | None


async def exchange(pool: Pool, gateway: Gateway, asked: Asked, patience_s: float | None = None) -> Reply:
    """Raises a CorralError, and nothing else."""
    tries = Tries(pool, gateway, asked, patience_s)
    while True:
        answer = await send(pool.http, request_of(gateway, asked, tries.left_s))
        found = judge(pool, gateway, asked, answer)
        if isinstance(found, Reply):
            asked.troubles.clear()
            return found
        if isinstance(found, CorralError):
            raise found
        await tries.pause(found)


class Tries:
    """The tries of one request, and how long they may take together."""

    def __init__(self, pool: Pool, gateway: Gateway, asked: Asked, patience_s: float | None = None) -> None:
        self._pool, self._gateway, self._asked = pool, gateway, asked
        self._began = asyncio.get_running_loop().time()
        self._until = self._began + (gateway.patience_s if patience_s is None else patience_s)
        self._failed = 0

    @property
    def left_s(self) -> float:
        return self._until - asyncio.get_running_loop().time()

    async def pause(self, found: Again) -> None:
        """Until the next try; raises what the last one met if there is no time for another."""
        pool, gateway, asked = self._pool, self._gateway, self._asked
        now = asyncio.get_running_loop().time()
        asked.troubles.append(found.error)
        _report(pool, gateway, asked, found.error, now)
        if gateway.url not in pool.met and found.error.admitted == "no":
            self._until = min(self._until, self._began + FIRST_CONTACT_S)
        pause = pause_s(self._failed, found.retry_after_s, random.random())
        if now + pause > self._until:
            raise _out_of_patience(found.error, now - self._began)
        await asyncio.sleep(pause)
        self._failed += 1


def _report(pool: Pool, gateway: Gateway, asked: Asked, error: CorralError, now: float) -> None:
    """Logs what is tried again: each code at its first failure and once a minute, for all rollouts together."""
    if (
        asked.is_watched
        or now - pool.reported.get((gateway.url, error.code), -REPORT_EVERY_S) < REPORT_EVERY_S
    ):
        return
    pool.reported[gateway.url, error.code] = now
    log.warning("%s %s failed and is tried again: %s", asked.route.method, asked.path, error)


def pause_s(tries: int, retry_after_s: float | None, chance: float) -> float:
    """What the fleet asks for and up to a quarter more, so that 512 rollouts do not come back in the same moment."""
    if retry_after_s is not None:
        return retry_after_s * (1 + chance / 4)
    return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0**tries) * (0.5 + chance / 2)


def request_of(gateway: Gateway, asked: Asked, left_s: float) -> Request:
    hold_s = max(1, int(min(gateway.hold_s, left_s)))
    content, content_type = _content(asked)
    headers = {
        "authorization": f"Bearer {gateway.key}",
        "content-type": content_type,
        "user-agent": USER_AGENT,
    }
    if gateway.run is not None:
        headers["x-corral-run"] = gateway.run
    return Request(
        method=asked.route.method,
        url=f"{gateway.url}{asked.path}",
        headers=headers,
        params={**asked.query, **({"wait_s": str(hold_s)} if asked.route.is_held else {})},
        content=content,
        silent_s=hold_s + OVERDUE_S if asked.route.is_held else asked.silent_s,
        most_bytes=asked.most_bytes,
    )


def _content(asked: Asked) -> tuple[bytes | None, str]:
    if asked.content is not None:
        return asked.content, "application/octet-stream"
    return None if asked.text is None else asked.text.encode(), "application/json"


def judge(pool: Pool, gateway: Gateway, asked: Asked, answer: Answer | Broken) -> Reply | Again | CorralError:
    if isinstance(answer, Broken):
        return _of_broken(gateway, asked, answer)
    try:
        found = _of_corral(asked, answer)
    except NotCorral as stranger:
        return _of_stranger(gateway, answer, str(stranger), was_met=gateway.url in pool.met)
    pool.met.add(gateway.url)
    return found


def _of_corral(asked: Asked, answer: Answer) -> Reply | Again | CorralError:
    if answer.status in (200, 201, 202):
        is_bytes = asked.route.method == "GET" and asked.route.of == "file"
        return Reply(answer.status, {} if is_bytes else _object(answer), answer)
    return of_failure(asked, read_failure(_object(answer)), answer.retry_after_s)


def of_failure(asked: Asked, failure: Failure, retry_after_s: float | None = None) -> Again | CorralError:
    """What a failure of the fleet means for this request."""
    if asked.route.is_new and failure.code == "invalid_request" and not failure.evidence:
        return _of_older_gateway(failure)
    error = error_of(failure, asked.route.of, was_sent_before=bool(asked.troubles), is_new_id=asked.is_new_id)
    return Again(error, retry_after_s) if failure.retryable and not failure.tainted else error


def _of_older_gateway(failure: Failure) -> Again:
    """In an upgrade some gateways have a newer route already, as the one that accepted the command. The next try may reach it."""
    message = f"a gateway of an older release answered: {failure.message}"
    older = own_failure("gateway_unreachable", message, "infrastructure")
    return Again(Unavailable(replace(older, retryable=True, admitted="unknown")), None)


def _object(answer: Answer) -> dict[str, Any]:
    try:
        body = json.loads(answer.content)
    except ValueError:
        body = None
    if isinstance(body, dict):
        return cast("dict[str, Any]", body)
    raise NotCorral("the body is no JSON object")


def of_broken_stream(gateway: Gateway, asked: Asked, reason: str) -> Again | CorralError:
    """A stream that ended without its last word."""
    return _of_broken(gateway, asked, Broken(reason, was_sent=True))


def of_late_request() -> Again:
    """The time of a request was over before it could begin with what was asked."""
    late = own_failure("still_running", "the time of the request was over", "infrastructure")
    return Again(Unavailable(replace(late, retryable=True, admitted="unknown")), None)


def _of_broken(gateway: Gateway, asked: Asked, broken: Broken) -> Again | CorralError:
    message = f"{asked.route.method} {gateway.url}: {broken.reason}"
    if broken.is_ours:
        return Misuse(own_failure("invalid_request", message, "caller"))
    admitted = "unknown" if broken.was_sent and asked.route.of in ("act", "attach", "file") else "no"
    failure = own_failure("gateway_unreachable", message, "infrastructure")
    return Again(Unavailable(replace(failure, retryable=True, admitted=admitted)), None)


def _of_stranger(gateway: Gateway, answer: Answer, what: str, was_met: bool) -> Again | CorralError:
    """Something else answered in the gateway's place. Before the gateway has ever answered, the address is wrong."""
    shown = answer.content[:120].decode(errors="replace")
    message = (
        f"{gateway.url} answered {answer.status} with something that is not Corral's ({what}): {shown!r}"
    )
    if answer.status < 500 and answer.status not in (408, 425, 429) and not was_met:
        return Misuse(own_failure("not_corral", message, "caller"))
    failure = own_failure("gateway_unreachable", message, "infrastructure")
    return Again(Unavailable(replace(failure, retryable=True, admitted="unknown")), answer.retry_after_s)


def own_failure(code: str, message: str, blame: Blame) -> Failure:
    """A failure that the client itself saw."""
    return Failure(code=code, message=message, blame=blame, admitted="no", retryable=False, tainted=False)


def _out_of_patience(error: CorralError, patience: float) -> CorralError:
    of = error.failure
    return type(error)(replace(of, message=f"{of.message} (tried for {patience:.0f} s)"))
