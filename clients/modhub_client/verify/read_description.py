"""The description of the API: complete, named, and no stricter than the service."""

from collections.abc import Iterator
from typing import Any, Final

from modhub_client.verify.checks import check
from modhub_client.verify.replies import require, require_equal
from modhub_client.verify.run import Run

_METHODS: Final = frozenset({"get", "put", "post", "delete"})
_PATH: Final = "/api/openapi.json"
_NEEDED: Final = {
    "core": ("/api/modhub", "/api/modhub/{id}", "/api/modhub/{id}/changelog", "/api/modhub/games", "/api/modhub/key"),
    "modhub_auth": ("/api/auth/login", "/api/auth/me", "/api/auth/refresh"),
    "modhub_builds": ("/api/modhub/app",),
    "modhub_sync": ("/api/modhub/changes", "/api/modhub/lookup", "/api/modhub/plan"),
    "modhub_wiki": ("/Modhub/api/wiki",),
}


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for method in _METHODS & item.keys():
            yield f"{method.upper()} {path}", item[method]


@check("C-API-1", added=True)
def the_api_is_described_in_openapi(run: Run) -> None:
    """3.1, at most 300 KB, with an ``ETag``, and the address of the service."""
    reply = run.service.get(_PATH).expect(200)
    document = reply.document()
    require(document["openapi"].startswith("3.1"), f"openapi is {document['openapi']!r}.")
    require(len(reply.body) <= 300 * 1024, f"{reply.call}: {len(reply.body)} bytes.")
    require(document["servers"][0]["url"].startswith(("https://", "http://")), f"servers is {document['servers']}.")
    run.service.get(_PATH, if_none_match=reply.header("ETag")).expect(304)
    reply.expect_header("Access-Control-Allow-Origin", "*")


@check("C-API-2", added=True)
def every_call_is_described_once(run: Run) -> None:
    """With a name that makes a method, a sentence, its responses, and below the two addresses of programs."""
    document = run.description
    names = [operation["operationId"] for _, operation in _operations(document)]
    require_equal("the names of calls, each once", len(names), len(set(names)))
    require(all(name.isidentifier() for name in names), "a name of a call makes no method.")
    for call, operation in _operations(document):
        require(operation.get("summary") and operation.get("description"), f"{call}: no sentence.")
        require(any(status.startswith("2") for status in operation["responses"]), f"{call}: no success.")
        require("security" in operation, f"{call}: no credential.")
    for feature, paths in _NEEDED.items():
        missing = [path for path in paths if path not in document["paths"]]
        require(feature not in run.features or not missing, f"{_PATH}: {missing} are not described.")


@check("C-API-2", added=True)
def every_schema_that_is_named_is_there(run: Run) -> None:
    """Every reference leads somewhere."""
    document = run.description
    for node in _nodes(document):
        reference = node.get("$ref")
        if isinstance(reference, str):
            target: Any = document
            for part in reference.removeprefix("#/").split("/"):
                require(isinstance(target, dict) and part in target, f"{reference} leads nowhere.")
                target = target[part]


@check("C-API-3", added=True)
def the_description_refuses_nothing_that_the_service_takes(run: Run) -> None:
    """No limit where text is cut, and no closed fields."""
    for node in _nodes(run.description):
        odd = [name for name in ("maxLength", "maxItems") if isinstance(node.get(name), int)]
        require(not odd and node.get("additionalProperties") is not False, f"a schema is too strict: {node!s:.200}")


@check("C-API-2", "C-OWN-12", feature="modhub_auth", added=True)
def every_call_that_needs_a_token_is_401_without_one(run: Run) -> None:
    """As it is described. Only reads are tried."""
    for call, operation in _operations(run.description):
        method, path = call.split()
        if method == "GET" and operation["security"] and {} not in operation["security"]:
            run.service.get(path.replace("{id}", "9007199254740993").replace("{noteId}", "1")).expect(401)


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
