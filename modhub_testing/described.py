"""Whether responses are what ``/api/openapi.json`` says: every answer of the tests' sites is compared with it."""

import json
import re
from functools import cached_property
from typing import Any

import msgspec
from webtest import TestResponse

from modhub.base.operations import FileBody
from modhub.base.service_registry import find_optional_service
from modhub.web.openapi_refusals import refusals_of
from modhub.web.openapi_schemas import ERROR_SCHEMA
from modhub.web.request import Request
from modhub.web.served_operations import ServedOperation, find_operations

ANYWHERE = {
    (400, "invalid_input"),
    (404, "not_found"),
    (405, "method_not_allowed"),
    (500, "internal_error"),
    (503, "busy"),
}
"""The refusals that any address may answer; the first one comes from a subscriber of a feature."""
_WITHOUT_BODY = {100, 102, 204, 304}


class DescribedApi:
    """The described calls of one application."""

    def __init__(self, registry: Any) -> None:
        self._registry = registry

    @cached_property
    def served(self) -> list[ServedOperation]:
        """All of them. Fixed addresses come before those with variable segments."""
        request = Request.blank("/")
        request.registry = self._registry
        return sorted(find_operations(request), key=lambda served: (served.path.count("{"), served.path))

    @cached_property
    def _operations(self) -> list[tuple[re.Pattern[str], ServedOperation]]:
        return [(_pattern_of(operation), operation) for operation in self.served]

    def find(self, method: str, path: str) -> ServedOperation | None:
        """The call at a path, if it is described."""
        for pattern, served in self._operations:
            if served.method == method and pattern.fullmatch(path):
                return served
        return None

    def check(self, response: TestResponse) -> None:
        """Compare a response with its description: status, code, fields and their types; AssertionError."""
        request = response.request
        served = self.find(request.method, request.environ["PATH_INFO"])
        if served is None or response.status_int in _WITHOUT_BODY:
            return
        operation = served.operation
        if response.status_int < 300:
            is_file = isinstance(operation.returns, FileBody)
            assert response.status_int in {operation.status, *operation.also, *([206] if is_file else [])}, operation.id
            if not is_file:
                check_body(operation.returns, response.body)
            return
        if response.content_type == "application/json":
            check_refusal(served, response.status_int, response.json)


def _pattern_of(served: ServedOperation) -> re.Pattern[str]:
    """Matches the paths of a call. Only an id that can be one is in its address."""
    pattern = re.escape(served.path)
    for segment in served.segments:
        pattern = pattern.replace(re.escape(f"{{{segment.name}}}"), "[0-9]+" if segment.kind is int else ".+")
    return re.compile(pattern + "/?")


def described_api(registry: Any) -> DescribedApi:
    """The described calls of an application, which many sites may share one after the other."""
    api = find_optional_service(registry, DescribedApi)
    if api is None:
        api = registry[DescribedApi] = DescribedApi(registry)
    return api


def check_body(declared: Any, body: bytes) -> None:
    """Whether a body has exactly the declared fields, each of its type."""
    decoded = msgspec.json.decode(body, type=declared)
    assert json.loads(msgspec.json.encode(decoded)) == json.loads(body), (declared, body[:400])


def check_refusal(served: ServedOperation, status: int, body: dict[str, Any]) -> None:
    """Whether a refusal is one of those that the call declares, or may come anywhere, and has no other fields."""
    refusals = refusals_of(served.operation, served.credential)
    answered = (status, body.get("error"))
    assert answered in {(known.status, known.code) for known in refusals} | ANYWHERE, (
        served.operation.id,
        status,
        body,
    )
    own = [known.body for known in refusals if known.body is not None and (known.status, known.code) == answered]
    fields = {field.encode_name for declared in own for field in msgspec.structs.fields(declared)}
    assert set(body) <= fields | set(ERROR_SCHEMA["properties"]), (served.operation.id, status, body)
