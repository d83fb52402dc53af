"""What is sent, as JSON that the fleet can read. What the model wrote must not become a mistake of the job."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any, Final

from .errors import Misuse, Refused
from .exchange import own_failure

# Of the caller's part of a body, in the gateway; the rest of a body is ids.
LONGEST_COMMAND_BYTES: Final = 1024 * 1024
# Of an address, in the gateway's router; three characters for each that has to be escaped.
LONGEST_PATH_BYTES: Final = 1300

# The fleet's own bounds of a command; a test compares them with `/openapi.json`.
LONGEST_COMMAND_S: Final = 3600.0
MOST_WORDS: Final = 4096
MOST_OUTPUT_BYTES: Final = 10 * 1024 * 1024

_id = re.compile("[!-~]{1,256}")
_half_characters = re.compile("[\ud800-\udfff]")


def well_formed(text: str) -> str:
    """Without halves of characters, which a model's tokens can make and UTF-8 cannot write."""
    return _half_characters.sub("\ufffd", text)


def json_text(body: Mapping[str, Any]) -> str:
    """Raises Misuse for what is no JSON: it is the trainer's own."""
    try:
        return well_formed(json.dumps(body, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise Misuse(own_failure("invalid_request", f"this is no JSON: {error}", "caller")) from None


def readable(arguments: Mapping[str, Any] | str) -> Mapping[str, Any] | str:
    """A tool's arguments as the model wrote them: text stays text, which the fleet reads and answers where it is wrong.

    Arguments that a trainer has parsed may hold what JSON cannot (NaN) or be deeper than any writer goes. They are sent as
    text that is no JSON either, so that the model is told of its bad arguments and no job is stopped.
    """
    if isinstance(arguments, str):
        return arguments
    try:
        json.dumps(arguments, allow_nan=False)
    except (ValueError, RecursionError):
        return "(arguments that are no JSON)"
    except TypeError:
        # No model can have written it: `json_text` says so.
        pass
    return arguments


def check_sample(sample: Mapping[str, Any]) -> None:
    """NaN and lists in lists without end, which a model's parsed arguments can hold, must not stop the job."""
    try:
        json.dumps(sample, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise _refused(f"the sample is not JSON: {error}") from None
    except TypeError:
        # No model can have written it: `json_text` says so.
        pass


def stdin_fields(stdin: str | bytes | None) -> dict[str, str]:
    if isinstance(stdin, bytes):
        return {"stdin_base64": b64encode(stdin).decode()}
    return {"stdin": stdin} if stdin is not None else {}


def check_command(argv: list[str], env: Mapping[str, str], texts: list[str]) -> None:
    """What no kernel would start, or the fleet does not take. A model may have written it."""
    if not 1 <= len(argv) <= MOST_WORDS:
        raise _refused(f"a command has 1 to {MOST_WORDS} words")
    told = [*argv, *env.keys(), *env.values(), *texts]
    if any("\0" in text for text in told):
        raise _refused("a command cannot hold a NUL character", "command_not_started")
    if sum(len(text.encode(errors="replace")) for text in told) > LONGEST_COMMAND_BYTES:
        raise _refused("a command and its input have at most 1 MiB", "payload_too_large")


def command_body(
    command: str | Sequence[str],
    *,
    cwd: str | None,
    env: Mapping[str, str] | None,
    stdin: str | bytes | None,
    user: str | None,
    merge: bool,
    max_output_bytes: int | None,
) -> dict[str, Any]:
    """Raises Refused for what no kernel would start, or the fleet does not take."""
    argv = [command] if isinstance(command, str) else list(command)
    given = stdin_fields(stdin)
    check_command(argv, env or {}, [cwd or "", *given.values()])
    return {
        **({"command": command} if isinstance(command, str) else {"argv": argv}),
        **({"cwd": cwd} if cwd else {}),
        **({"env": dict(env)} if env is not None else {}),
        **given,
        **({"user": user} if user is not None else {}),
        **({"merge": True} if merge else {}),
        **({"max_output_bytes": max_output_bytes} if max_output_bytes is not None else {}),
    }


def check_bounds(
    timeout_s: float | None, call_id: str | None, user: str | None = None, max_output_bytes: int | None = None
) -> None:
    """A harness may let the model choose a timeout, and take a call's id from it. What is out of bounds is refused here, so that
    an `invalid_request` of the fleet is the job's mistake and never the model's."""
    if timeout_s is not None and not 0 < timeout_s <= LONGEST_COMMAND_S:
        raise _refused(f"timeout_s is more than 0 and at most {LONGEST_COMMAND_S:.0f}; got {timeout_s}")
    # Addresses have the id, and HTTP clients resolve these two.
    if call_id is not None and (not _id.fullmatch(call_id) or call_id in (".", "..")):
        raise _refused("a call's id has 1 to 256 printable characters without spaces, and is not . or ..")
    if user not in (None, "policy", "root"):
        raise _refused(f"commands run as policy or root; got {user!r}")
    if max_output_bytes is not None and not 1 <= max_output_bytes <= MOST_OUTPUT_BYTES:
        raise _refused(f"max_output_bytes is 1 to {MOST_OUTPUT_BYTES}; got {max_output_bytes}")


def check_path(path: str) -> None:
    if path.strip("/") == "" or "\0" in path or _half_characters.search(path):
        raise _refused(f"{path!r} names no file")
    if len(path.encode(errors="replace")) > LONGEST_PATH_BYTES:
        raise _refused("the path is too long")


def _refused(message: str, code: str = "invalid_request") -> Refused:
    return Refused(own_failure(code, message, "model"))
