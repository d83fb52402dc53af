"""What is sent, as JSON that the fleet can read. What the model wrote must not become a mistake of the job."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from .errors import Misuse, Refused
from .exchange import own_failure

# Of the caller's part of a body, in the gateway; the rest of a body is ids.
LONGEST_COMMAND_BYTES: Final = 1024 * 1024
# Of an address, in the gateway's router; three characters for each that has to be escaped.
LONGEST_PATH_BYTES: Final = 1300

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


def check_command(texts: list[str]) -> None:
    """What no kernel would start. A model may have written it, so it is `Refused` and neither discard nor misuse."""
    if any("\0" in text for text in texts):
        raise Refused(own_failure("command_not_started", "a command cannot hold a NUL character", "model"))
    if sum(len(text.encode(errors="replace")) for text in texts) > LONGEST_COMMAND_BYTES:
        raise Refused(own_failure("payload_too_large", "a command and its input have at most 1 MiB", "model"))


def check_path(path: str) -> None:
    if path.strip("/") == "" or "\0" in path or _half_characters.search(path):
        raise Refused(own_failure("invalid_request", f"{path!r} names no file", "model"))
    if len(path.encode(errors="replace")) > LONGEST_PATH_BYTES:
        raise Refused(own_failure("invalid_request", "the path is too long", "model"))
