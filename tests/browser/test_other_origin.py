"""A page of another origin reads everything that programs may read, and sees the headers that they need."""

import pytest

FEATURES = "modhub_testing.accounts modhub_wiki modhub_sync"
# One call: what the page may read of it. A page whose preflight or answer forbids it gets an exception instead.
CALLS = """calls => Promise.all(calls.map(async ([url, headers, question]) => {
    const post = question && {method: "POST", body: JSON.stringify(question)};
    const answer = await fetch(url, {headers, cache: "no-store", ...post});
    await answer.arrayBuffer();
    return [answer.status, ...answer.headers.keys()];
}))"""


@pytest.fixture(scope="module")
def service(serve_with, tmp_path_factory):
    with serve_with(tmp_path_factory.mktemp("other-origin"), FEATURES, "demo") as running:
        yield running


@pytest.fixture
def page(browser, elsewhere):
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{elsewhere}/docs/README.md")
    yield page
    context.close()


def test_a_page_of_another_origin_reads_everything(page, service):
    # C-HTTP-2, C-PRO-1
    asked = [
        ("/api/modhub?size=5", {}, None),
        ("/api/modhub/1", {"If-None-Match": '"other"'}, None),
        ("/api/modhub/1/vote", {"Authorization": "Bearer nonsense"}, None),
        ("/api/modhub/plan", {"Content-Type": "application/json"}, {"want": []}),
        ("/api/modhub/changes?since=0", {}, None),
        ("/Modhub/api/wiki", {}, None),
        ("/Modhub/feed.json", {"If-Modified-Since": "Thu, 01 Jan 1970 00:00:00 GMT"}, None),
        ("/Modhub/feed", {}, None),
        ("/api/openapi.json", {}, None),
    ]
    sent = []
    page.on("request", lambda request: sent.append(request))  # noqa: PLW0108 - it sets an attribute of the function
    answers = page.evaluate(CALLS, [[service.address + path, *rest] for path, *rest in asked])
    assert [(path, status) for (path, *_), (status, *_) in zip(asked, answers, strict=True) if status != 200] == []
    assert {"etag", "x-request-id"} <= set(answers[0])
    (file,) = page.evaluate(
        CALLS, [[f"{service.address}/api/modhub/1/download", {"Range": "bytes=0-3", "If-Range": '"x"'}, None]]
    )
    assert file[0] == 200  # of another file: the whole
    assert {"etag", "last-modified", "accept-ranges", "content-disposition", "repr-digest"} <= set(file)
    names = {name for request in sent if request.url.startswith(service.address) for name in request.headers}
    assert {"authorization", "if-none-match", "if-modified-since", "range", "if-range"} <= names
    assert "cookie" not in names
    (refused,) = page.evaluate(CALLS, [[f"{service.address}/api/modhub/999999", {}, None]])
    assert refused[0] == 404
