"""The client beside the gateway's own `/openapi.json`: addresses, fields and codes, so that the two never part."""

from __future__ import annotations

import inspect
import re
from typing import Any, cast, get_args

import httpx
import pytest
from fleet import Fleet

import corral
from corral import routes, sync, writing
from corral.errors import Admitted, Blame
from corral.failures import MEANINGS
from corral.results import (
    Cancelled,
    Outcome,
    read_call,
    read_cancelled,
    read_failure,
    read_grade,
    read_opened,
    read_verdict,
)
from corral.routes import ROUTES, Route
from corral.standing import read_standing

# What each request of the client holds, as `rollout.py` and `client.py` write it.
SENT: dict[Route, set[str]] = {
    routes.OPEN: {"rollout_id", "attempt", "environment", "item", "group", "step", "labels", "requires"},
    routes.CALL: {"call_id", "name", "arguments", "timeout_s", "setup"},
    routes.EXEC: {
        "call_id",
        "argv",
        "command",
        "cwd",
        "env",
        "stdin",
        "timeout_s",
        "user",
        "merge",
        "stdin_base64",
        "binary",
        "stream",
        "open_stdin",
        "max_output_bytes",
        "setup",
    },
    routes.TERMINAL: {"call_id", "timeout_s"},
    routes.GRADE: {"sample"},
    routes.FINISH: {"score"},
    routes.REFUSE: {"requirement", "wanted", "given", "fix"},
    routes.PREWARM: {"environment", "count", "items", "needed_at"},
    routes.ASK_STANDING: {"run", "environment", "task", "holder", "again"},
    routes.RECORD_STANDING: {
        "run",
        "environment",
        "task",
        "holder",
        "outcome",
        "reason",
        "solution_verifier_took_s",
    },
}
READERS: dict[Route, Any] = {
    routes.OPEN: read_opened,
    routes.HEARTBEAT: read_opened,
    routes.CALL: read_call,
    routes.EXEC: read_call,
    routes.ATTACH: read_call,
    routes.GRADE: read_grade,
    routes.VERDICT: read_verdict,
    routes.ASK_STANDING: read_standing,
    routes.RECORD_STANDING: read_standing,
}


@pytest.fixture(scope="session")
def document(fleet: Fleet) -> Any:
    found = httpx.get(f"{fleet.url}/openapi.json").json()
    return resolved(found, found)


def resolved(document: Any, value: Any) -> Any:
    """With what each reference names in its place."""
    if isinstance(value, list):
        return [resolved(document, each) for each in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value)
    if "$ref" not in fields:
        return {name: resolved(document, each) for name, each in fields.items()}
    found = document
    for name in fields["$ref"].removeprefix("#/").split("/"):
        found = found[name]
    return resolved(document, found)


def operation(document: Any, route: Route) -> Any:
    return document["paths"][route.path][route.method.lower()]


def schema_of(content: Any) -> Any:
    return content["content"]["application/json"]["schema"]


def example(schema: Any) -> Any:
    """A value of the schema with every field that it has to have, each null where it may be."""
    for alternative in schema.get("anyOf", []):
        if alternative.get("type") == "null":
            return None
    if "anyOf" in schema:
        return example(schema["anyOf"][0])
    if "const" in schema:
        return schema["const"]
    if schema.get("type") == "object":
        fields = schema.get("properties", {})
        return {name: example(fields[name]) for name in schema.get("required", [])}
    plain: dict[str, Any] = {"string": "text", "number": 1, "integer": 1, "boolean": True, "array": []}
    return plain[schema["type"]]


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_each_address_of_the_client_is_one_of_the_gateway(document: Any, route: Route):
    found = operation(document, route)
    queries = {each["name"] for each in found["parameters"] if each["in"] == "query"}
    assert ("wait_s" in queries) == route.is_held
    assert ("attempt" in queries) == ("/rollouts/" in route.path)
    # Each upload is written once, and may be set-up; a folder is named in the query.
    is_upload = route.of == "file" and route.method == "PUT"
    assert {"call_id", "setup"} & queries == ({"call_id", "setup"} if is_upload else set())
    assert ("path" in queries) == (route.path.endswith("/archive"))
    named = {each["name"] for each in found["parameters"] if each["in"] == "path"}
    assert named == set(re.findall(r"{(\w+)}", route.path))


@pytest.mark.parametrize(
    "route", [route for route in ROUTES if route in SENT], ids=lambda route: f"{route.method} {route.path}"
)
def test_each_field_that_is_sent_is_known_and_none_is_missing(document: Any, route: Route):
    body = schema_of(operation(document, route)["requestBody"])
    schema = next(each for each in body.get("anyOf", [body]) if each["type"] == "object")
    assert SENT[route] <= set(schema["properties"])
    assert set(schema.get("required", [])) <= SENT[route]


def test_the_bounds_of_a_command_are_those_of_the_gateway(document: Any):
    fields = schema_of(operation(document, routes.EXEC)["requestBody"])["properties"]
    assert fields["argv"]["maxItems"] == writing.MOST_WORDS
    assert fields["timeout_s"]["maximum"] == writing.LONGEST_COMMAND_S
    assert fields["max_output_bytes"]["maximum"] == writing.MOST_OUTPUT_BYTES


def test_nothing_else_takes_a_body(document: Any):
    def takes_json(route: Route) -> bool:
        return "application/json" in operation(document, route).get("requestBody", {}).get("content", {})

    assert {route for route in ROUTES if takes_json(route)} == set(SENT)


@pytest.mark.parametrize("route", READERS, ids=lambda route: f"{route.method} {route.path}")
def test_each_answer_with_just_what_it_must_have_can_be_read(document: Any, route: Route):
    READERS[route](example(schema_of(operation(document, route)["responses"]["200"])))


def test_a_cancel_says_whether_the_call_had_begun(document: Any):
    schema = schema_of(operation(document, routes.CANCEL)["responses"]["202"])
    assert {"began", "waiting"} <= set(schema["required"])
    assert read_cancelled({**example(schema), "began": False}) == Cancelled(began=False, waiting=True)
    # A gateway of the previous version.
    assert read_cancelled({"call_id": "c", "state": "cancelling"}) == Cancelled(began=True, waiting=False)


def test_failures_have_the_codes_and_the_words_that_the_client_knows(document: Any):
    schema = document["components"]["schemas"]["Error"]
    error = schema["properties"]["error"]["properties"]
    assert set(error["code"]["x-extensible-enum"]) == set(MEANINGS)
    assert {each["const"] for each in error["blame"]["anyOf"]} == set(get_args(Blame))
    assert {each["const"] for each in error["admitted"]["anyOf"]} == set(get_args(Admitted))
    read_failure(example(schema))


def test_outcomes_are_those_that_the_client_knows(document: Any):
    answer = schema_of(operation(document, routes.CALL)["responses"]["200"])
    assert {each["const"] for each in answer["properties"]["outcome"]["anyOf"]} == set(get_args(Outcome))


@pytest.mark.parametrize("name", ["Client", "Rollout"])
def test_the_synchronous_face_is_the_asynchronous_one(name: str):
    assert faces(getattr(sync, name)) == faces(getattr(corral, name))


def faces(kind: type) -> dict[str, Any]:
    def shape(each: Any) -> Any:
        if isinstance(each, property):
            return "property"
        # A client of the one kind takes the client of its own kind, of the same name.
        return [
            (one.name, one.kind, str(one.annotation)) for one in inspect.signature(each).parameters.values()
        ]

    return {
        name: shape(each)
        for name, each in vars(kind).items()
        if name == "__init__" or (not name.startswith("_") and (callable(each) or isinstance(each, property)))
    }
