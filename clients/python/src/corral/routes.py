"""The addresses of the native face that the client uses, and nothing else; a test holds them beside `/openapi.json`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from .failures import Of


@dataclass(frozen=True, slots=True)
class Route:
    method: str
    path: str
    of: Of = "other"
    is_held: bool = False
    """Whether the gateway holds the request while it waits or works, for as long as `wait_s` says."""
    is_new: bool = False
    """Whether a gateway of the previous release does not have it."""

    def at(self, **values: str) -> str:
        """The address with these values in it. Ids may hold slashes, and a file's path none but its own."""
        filled = self.path
        for name, value in values.items():
            filled = filled.replace(
                f"{{{name}}}", of_file(value) if name == "path" else quote(value, safe="")
            )
        return filled


def of_file(path: str) -> str:
    """A path in an address. Dots that climb are written so that no client and no proxy resolves them on the way."""
    parts = (
        part.replace(".", "%2E") if part in (".", "..") else quote(part, safe="") for part in path.split("/")
    )
    return "/".join(parts)


OPEN: Final = Route("POST", "/v1/rollouts", "open")
VIEW: Final = Route("GET", "/v1/rollouts/{id}")
VERDICT: Final = Route("GET", "/v1/rollouts/{id}/verdict")
CALL: Final = Route("POST", "/v1/rollouts/{id}/calls", "act", is_held=True)
EXEC: Final = Route("POST", "/v1/rollouts/{id}/exec", "act", is_held=True)
ATTACH: Final = Route("GET", "/v1/rollouts/{id}/calls/{call_id}", "attach", is_held=True)
STREAM: Final = Route("GET", "/v1/rollouts/{id}/calls/{call_id}/stream", "attach", is_held=True, is_new=True)
STDIN: Final = Route("POST", "/v1/rollouts/{id}/calls/{call_id}/stdin", "act", is_held=True, is_new=True)
TERMINAL: Final = Route(
    "POST", "/v1/rollouts/{id}/terminals/{terminal}/follow", "act", is_held=True, is_new=True
)
CANCEL: Final = Route("POST", "/v1/rollouts/{id}/calls/{call_id}/cancel")
WRITE: Final = Route("PUT", "/v1/rollouts/{id}/files/{path}", "file")
READ: Final = Route("GET", "/v1/rollouts/{id}/files/{path}", "file")
UPLOAD: Final = Route("PUT", "/v1/rollouts/{id}/archive", "file")
DOWNLOAD: Final = Route("GET", "/v1/rollouts/{id}/archive", "file")
GRADE: Final = Route("POST", "/v1/rollouts/{id}/grade", "grade", is_held=True)
HEARTBEAT: Final = Route("POST", "/v1/rollouts/{id}/heartbeat")
FINISH: Final = Route("POST", "/v1/rollouts/{id}/finish", is_held=True)
DELETE: Final = Route("DELETE", "/v1/rollouts/{id}")
REFUSE: Final = Route("POST", "/v1/rollouts/{id}/refuse")
PREWARM: Final = Route("POST", "/v1/prewarm")
TOOLS: Final = Route("GET", "/v1/environments/{name}/tools")
ASK_STANDING: Final = Route("POST", "/v1/controls")
RECORD_STANDING: Final = Route("PUT", "/v1/controls")

ROUTES: Final = (
    OPEN,
    VIEW,
    VERDICT,
    CALL,
    EXEC,
    ATTACH,
    STREAM,
    STDIN,
    TERMINAL,
    CANCEL,
    WRITE,
    READ,
    UPLOAD,
    DOWNLOAD,
    GRADE,
    HEARTBEAT,
    FINISH,
    DELETE,
    REFUSE,
    PREWARM,
    TOOLS,
    ASK_STANDING,
    RECORD_STANDING,
)
