"""The description of the API: valid, complete for every set of features, and what the reference says too."""

import json
import re

import msgspec
import pytest
from openapi_spec_validator import validate

from modhub import admin_main
from modhub.base.operations import FileBody
from modhub.web.openapi import ApiDescription, read_contract
from modhub.web.request import Request
from modhub_testing.described import DescribedApi
from modhub_testing.reference import calls, for_programs

ADDRESS = "/api/openapi.json"
FEATURES = (
    "modhub_auth modhub_builds modhub_downloads modhub_following "
    "modhub_moderation modhub_profiles modhub_sync modhub_tags modhub_wiki"
)
SUBSETS = ["", "modhub_auth", FEATURES]
VARIABLE = re.compile(r"\{[^}]*\}")
ALIASES = {
    ("GET", "/api/modhub/wiki"),
    *((method, "/api/modhub/wiki/{}") for method in ("GET", "PUT", "POST", "DELETE")),
}
"""Second addresses of described calls."""

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"])


def started(start, includes=FEATURES, **settings):
    return start(f"{includes} modhub_testing.nothing_kept", **settings)


def operations(document):
    return {
        (method.upper(), VARIABLE.sub("{}", path)): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


@pytest.mark.parametrize("includes", SUBSETS)
def test_it_is_valid_and_has_every_call_of_the_enabled_features(start, includes):
    # C-API-1, C-API-2, C-PRO-4
    site = started(start, includes)
    document = site.get(ADDRESS).json
    validate(document)
    served = for_programs(site, calls(site))
    named = operations(document)
    assert {call for call in served if call[1].startswith(("/api/", "/Modhub/api/"))} - ALIASES - set(named) == set()
    assert set(named) - served == set()
    assert [path for _, path in named if re.search(r"/(?:v|ver|version)?[0-9.]+(?:/|$)", path)] == []
    assert {operation["tags"][0] for operation in named.values()} == {tag["name"] for tag in document["tags"]}


def test_a_command_prints_it_without_a_database(start, tmp_path, capsys):
    # C-API-7
    ini = tmp_path / "small.ini"
    ini.write_text(
        "[app:main]\nuse = egg:modhub\npyramid.includes = modhub_tags\nmodhub.secret = " + "s" * 40 + "\n"
        f"sqlalchemy.url = sqlite:///{tmp_path}/none.sqlite\nmodhub.base_url = http://127.0.0.1:6543\n"
    )
    assert admin_main(["-c", str(ini), "openapi"]) == 0
    printed = capsys.readouterr().out
    site = started(start, "modhub_tags", modhub__base_url="http://127.0.0.1:6543")
    assert json.loads(printed) == site.get(ADDRESS).json
    assert printed.endswith("\n")
    assert not (tmp_path / "none.sqlite").exists()


def test_it_is_made_when_it_is_read_first_and_once(start, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("msgspec.json.schema_components", None)
        patch.setattr("modhub.web.openapi.find_operations", None)
        site = started(start, fresh=True)
    request = Request.blank("/")
    request.registry = site.registry
    description = ApiDescription()
    body = description.body(request)
    monkeypatch.setattr("modhub.web.openapi.describe_api", None)
    assert description.body(request) is body


def test_every_operation_has_its_credential_and_its_errors(start):
    # C-API-2
    named = operations(started(start).get(ADDRESS).json)
    assert [call for call, operation in named.items() if not {"503", "default"} <= set(operation["responses"])] == []
    secured = named["POST", "/api/modhub"]
    assert secured["security"] == [{"account": []}]
    assert "`unauthorized`" in secured["responses"]["401"]["description"]
    assert named["GET", "/api/modhub/{}/vote"]["security"] == [{}, {"account": []}]
    assert named["GET", "/api/modhub"]["security"] == []
    assert named["POST", "/api/modhub/app/{}"]["security"] == [{"machine": []}]
    assert "403" in named["GET", "/api/modhub/mine"]["responses"]
    assert "403" not in named["GET", "/api/auth/me"]["responses"]


@pytest.mark.parametrize("includes", ["modhub_tags", FEATURES])
def test_each_call_has_the_text_of_its_clauses_and_of_no_other_feature(start, includes):
    # C-API-4
    site = started(start, includes)
    text = site.get(ADDRESS).text
    named = operations(json.loads(text))
    told = {
        call: dict(re.findall(r"(?m)^- \*\*(C-[A-Z]+-\d+)\*\* (.+)$", operation["description"]))
        for call, operation in named.items()
    }
    assert [call for call, clauses in told.items() if not clauses] == []
    contract = read_contract()
    assert len(contract) > 250
    assert [clauses for clauses in told.values() if not clauses.items() <= contract.items()] == []
    assert ("C-TAG-2" in text, "C-ACC-2" in text) == ("modhub_tags" in includes, "modhub_auth" in includes)


def test_everything_is_described_and_the_examples_fit(start):
    # C-API-2
    site = started(start)
    document = site.get(ADDRESS).json
    fields = [
        (name, field, told)
        for name, schema in document["components"]["schemas"].items()
        for field, told in schema.get("properties", {}).items()
    ]
    assert len(fields) > 200
    assert [(name, field) for name, field, told in fields if not told.get("description")] == []
    # Markdown shows what is indented as code, and readers know no Python.
    schemas = {name: schema.get("description", "") for name, schema in document["components"]["schemas"].items()}
    assert {name: text for name, text in schemas.items() if re.search(r"(?m)^ {4}|\bNone\b", text)} == {}
    named = operations(document)
    told = [part for operation in named.values() for part in described_parts(operation)]
    assert len(told) > 300
    assert [part for part in told if not part.get("description")] == []
    bodies = {served.operation.id: served.operation for served in DescribedApi(site.registry).served}
    examples = 0
    for operation in named.values():
        declared = bodies[operation["operationId"]]
        answers = [answer for status, answer in operation["responses"].items() if status.startswith("2")]
        for body, holder in [
            (declared.takes, operation.get("requestBody")),
            *((declared.returns, answer) for answer in answers),
        ]:
            if body is None or isinstance(body, FileBody) or operation["operationId"] == "read_api_description":
                continue
            example = holder["content"]["application/json"]["example"]
            msgspec.json.decode(json.dumps(example), type=body)
            examples += 1
    assert examples > 60


def described_parts(operation):
    """The parameters, responses and headers of a call that are not shared."""
    responses = [response for response in operation["responses"].values() if "$ref" not in response]
    headers = [header for response in responses for header in response.get("headers", {}).values()]
    return [*operation.get("parameters", ()), *responses, *headers]


def test_headers_are_at_the_calls_that_have_them(start):
    # C-API-2
    document = started(start).get(ADDRESS).json
    named = {operation["operationId"]: operation for operation in operations(document).values()}
    sent = {
        name: {parameter["name"] for parameter in operation.get("parameters", ()) if parameter["in"] == "header"}
        for name, operation in named.items()
    }
    ranged = {"If-None-Match", "If-Match", "If-Modified-Since", "If-Unmodified-Since", "Range", "If-Range"}
    assert (sent["read_file"], sent["create_mod"]) == (ranged, {"Idempotency-Key"})
    assert (sent["edit_mod"], sent["list_mods"], sent["vote"]) == ({"If-Match"}, {"If-None-Match"}, set())
    assert "Link" in named["read_mod"]["responses"]["200"]["headers"]
    assert {"ETag", "Repr-Digest", "Accept-Ranges"} <= named["read_file"]["responses"]["200"]["headers"].keys()
    assert "Retry-After" in document["components"]["responses"]["Busy"]["headers"]


def test_links_lead_to_calls_and_give_them_parameters_that_they_have(start):
    # C-API-2
    document = started(start).get(ADDRESS).json
    named = {operation["operationId"]: operation for operation in operations(document).values()}
    links = [
        link
        for operation in named.values()
        for response in operation["responses"].values()
        for link in response.get("links", {}).values()
    ]
    assert len(links) > 10
    for link in links:
        parameters = {parameter["name"]: parameter for parameter in named[link["operationId"]]["parameters"]}
        assert set(link["parameters"]) <= set(parameters), link
        required = {name for name, parameter in parameters.items() if parameter["in"] == "path"}
        assert required <= set(link["parameters"]), link


def test_the_reference_has_a_table_for_each_schema_and_each_parameter(start):
    # C-API-7
    site = started(start)
    page, document = site.get("/Modhub/doc").html, site.get(ADDRESS).json

    tables = {
        body["id"]: [row.th.text for row in body.find_all("tr") if row.th.get("scope") == "row"]
        for body in page.find_all("tbody", id=True)
    }
    schemas = {
        name: [*told["properties"]] for name, told in document["components"]["schemas"].items() if "enum" not in told
    }
    assert len(schemas) > 80
    shown = {name.removeprefix("schema-"): rows for name, rows in tables.items() if name.startswith("schema-")}
    assert shown == schemas
    for operation in operations(document).values():
        declared = [parameter["name"] for parameter in operation.get("parameters", ())]
        table = f"parameters-{operation['operationId']}".replace("_", "-")
        assert [name.strip("{}") for name in tables.get(table, [])] == declared


def test_files_are_bytes_of_any_type_and_some_calls_take_any_body(start):
    # C-API-3
    named = operations(started(start).get(ADDRESS).json)
    bytes_of_a_file = {"schema": {"type": "string", "format": "binary"}}
    download = named["GET", "/api/modhub/{}/download"]["responses"]
    for status in ("200", "206"):
        assert download[status]["content"] == {"application/octet-stream": bytes_of_a_file, "*/*": bytes_of_a_file}
    upload = named["POST", "/api/modhub/{}/code"]["requestBody"]
    assert upload == {"required": True, "content": {"application/octet-stream": bytes_of_a_file}}
    text = {"schema": {"type": "string"}}
    assert named["GET", "/Modhub/api/wiki/{}"]["responses"]["200"]["content"] == {"text/markdown": text}
    logout = named["POST", "/api/auth/logout"]
    assert logout["requestBody"]["required"] is False
    assert not {"400", "413"} & set(logout["responses"])
