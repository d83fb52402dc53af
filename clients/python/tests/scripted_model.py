"""A model behind an OpenAI-compatible address that does what a test tells it: each rollout its commands, then its answer."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class ScriptedModel:
    """`scripts`: by the session that a request names, the command of each of the model's turns; `answer`: what it says then."""

    url: str
    scripts: dict[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    answer: str = "done"
    seen: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    """The messages of each session's newest request."""
    begins: Callable[[str, int], None] | None = None
    """Called with its session before the model's turn of this number is a command."""

    def answers(self, session: str, messages: list[Any]) -> dict[str, Any]:
        self.seen[session] = messages
        turn = sum(message["role"] == "assistant" for message in messages)
        script = self.scripts.get(session, [])
        if turn == len(script):
            return {"role": "assistant", "content": self.answer}
        if self.begins is not None:
            self.begins(session, turn)
        arguments = json.dumps({"command": script[turn]})
        call = {
            "id": f"call-{turn}",
            "type": "function",
            "function": {"name": "shell", "arguments": arguments},
        }
        return {"role": "assistant", "content": None, "tool_calls": [call]}


@contextmanager
def scripted_model() -> Generator[ScriptedModel]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            message = model.answers(self.headers["x-session-id"], asked["messages"])
            reason = "tool_calls" if "tool_calls" in message else "stop"
            body = json.dumps(
                {
                    "id": uuid.uuid4().hex,
                    "object": "chat.completion",
                    "created": 0,
                    "model": asked["model"],
                    "choices": [{"index": 0, "finish_reason": reason, "message": message}],
                    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
                }
            ).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: Any, **_named: Any) -> None:
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    model = ScriptedModel(f"http://127.0.0.1:{server.server_port}/v1")
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        yield model
    finally:
        server.shutdown()
        serving.join()
        server.server_close()
