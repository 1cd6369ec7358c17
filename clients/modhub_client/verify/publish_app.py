"""Part ``publish`` with ``--may-leave-traces``: builds, which are kept, and a section of the app changelog."""

from modhub_client.verify.outcomes import Skipped
from modhub_client.verify.publish_keys import app_call
from modhub_client.verify.publisher import PLATFORM, RunPublisher, publish_check, publisher_of
from modhub_client.verify.replies import require, require_equal, require_keys
from modhub_client.verify.run import Run


def traces(run: Run) -> RunPublisher:
    """The key; `Skipped` unless the run may leave what it publishes."""
    publisher = publisher_of(run)
    if not run.options.may_leave_traces:
        raise Skipped("needs --may-leave-traces")
    return publisher


@publish_check("C-APP-2", "C-APP-4", "C-APP-5", "C-APP-7", feature="modhub_builds")
def _builds_are_published_and_kept(run: Run) -> None:
    """Two of them, the first without losing its address."""
    publisher = traces(run)
    files = [f"{publisher.nonce} build {number}".encode() for number in (1, 2)]
    made = []
    for content, query in zip(files, (f"?version={publisher.nonce}&name=build.zip", ""), strict=True):
        reply = app_call(run, "POST", f"/api/modhub/app/{PLATFORM}{query}", body=content).expect(201)
        made.append(reply.document())
        require_keys("a build", made[-1], ("os", "version", "bytes", "url", "newest"))
    require_equal("version and bytes", (publisher.nonce, len(files[0])), (made[0]["version"], made[0]["bytes"]))
    require_equal("newest", f"/Modhub/app/{PLATFORM}", made[0]["newest"])
    for build, content in zip(made, files, strict=True):
        require_equal("the file of a build", content, run.service.get(build["url"]).expect(200).body)
    newest = run.service.get(made[1]["newest"]).expect(200)
    require_equal("the newest build", files[1], newest.body)
    require(f"modhub-{PLATFORM}.zip" in newest.header("Content-Disposition"), "A build without a name has no default.")
    require("no-cache" in newest.header("Cache-Control"), "The newest build may be cached without revalidation.")
    listed = run.service.get("/api/modhub/app").expect(200).document()["builds"]
    versions = [version["url"] for build in listed if build["os"] == PLATFORM for version in build["versions"]]
    require_equal("the newest builds of a list", [build["url"] for build in made[::-1]], versions[:2])


@publish_check("C-APP-9", "C-APP-10", "C-APP-11", feature="modhub_builds")
def _a_section_is_put_on_top_and_taken_back(run: Run) -> None:
    """Only while it is on top."""
    publisher = traces(run)
    before = str(run.service.get("/api/modhub/app").expect(200).document()["changelog"])
    app_call(run, "POST", "/api/modhub/app/changelog", body=b"").expect_error(400)
    text = f"modhub-verify {publisher.nonce} <b>first</b>\nsecond"
    publisher.section = text
    sent = f"\r\n\r\n{text}\r\n \r\n".replace("first</b>\n", "first</b>\r\n").encode()
    reply = app_call(run, "POST", "/api/modhub/app/changelog", body=sent).expect(201).document()
    require_equal("characters", len(text), reply["characters"])
    changelog = str(run.service.get("/api/modhub/app").expect(200).document()["changelog"])
    require_equal("the app changelog", f"{text}\n\n{before}" if before else text, changelog)
    require_equal("whole", len(changelog), reply["whole"])
    require("<b>first</b>" not in run.service.get("/Modhub/App").expect(200).text, "The changelog is shown as markup.")
    taken = publisher.pop_section().expect(200).document()
    require_equal("what is left of the changelog", (before, len(before)), (taken["changelog"], taken["characters"]))
