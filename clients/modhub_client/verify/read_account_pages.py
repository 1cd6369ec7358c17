"""Pages of accounts and of following, as visitors see them."""

from modhub_client.verify.checks import check
from modhub_client.verify.html_texts import HtmlText
from modhub_client.verify.read_pages import expect_redirect, read_page
from modhub_client.verify.replies import Reply, require, require_equal
from modhub_client.verify.run import Run


@check("C-PAGE-7", part="read", feature="modhub_auth", added=True)
def a_page_that_needs_an_account_leads_to_the_sign_in(run: Run) -> None:
    """And back, on the same site only."""
    for path in ("/Modhub/mine", "/Modhub/mine/new", "/Modhub/account"):
        expect_redirect(run, path, f"/Modhub/account/login?next={path}", 302, 303)


@check("C-HTTP-5", part="read", feature="modhub_auth", added=True)
def pages_take_no_bearer_tokens(run: Run) -> None:
    """They lead to the sign-in all the same."""
    reply = run.service.get("/Modhub/mine", authorization="Bearer nonsense").expect(302, 303)
    require("/Modhub/account/login" in reply.header("Location"), f"{reply.call}: leads to {reply.header('Location')}.")


@check("C-PAGE-4", "C-PAGE-6", part="read", feature="modhub_auth", added=True)
def account_pages_have_the_fields_of_the_api(run: Run) -> None:
    """``email``, ``password``, ``displayName``, and the token ``csrf_token``; never cached for others."""
    for path, fields in (
        ("login", {"email", "password"}),
        ("register", {"email", "password", "displayName"}),
        ("forgot", {"email"}),
    ):
        reply = run.service.get(f"/Modhub/account/{path}", accept_language="en").expect(200, 403)
        if reply.status == 403:
            continue  # registration is closed
        missing = {*fields, "csrf_token"} - HtmlText(reply.text).fields()
        require(not missing, f"{reply.call}: the fields {sorted(missing)} are missing.")
        require_equal(f"Content-Encoding of {path}", "", _zipped(run, path).header("Content-Encoding"))


def _zipped(run: Run, path: str) -> Reply:
    return run.service.get(f"/Modhub/account/{path}", accept_encoding="gzip")


@check("C-PAGE-10", part="read", feature="modhub_auth", added=True)
def a_link_that_is_not_valid_is_a_410_page(run: Run) -> None:
    """Of a reset, and of a confirmation."""
    for path in ("/Modhub/account/reset?token=nonsense", "/Modhub/account/confirm?token=nonsense"):
        run.service.get(path).expect(410)


@check("C-FOL-1", part="read", feature="modhub_following", added=True)
def visitors_are_led_to_sign_in_to_follow(run: Run) -> None:
    """On a mod's page."""
    path = f"{run.a_mod['url']}/follow"
    require(path in read_page(run, run.a_mod["url"]).links(), f"{run.a_mod['url']}: no link to follow it.")
    require(
        "/Modhub/account/login?next=" in run.service.get(path).expect(302, 303).header("Location"),
        f"{path}: no sign-in.",
    )


@check("C-PAGE-7", "C-FOL-14", part="read", feature="modhub_following", added=True)
def what_is_followed_is_for_its_account_only(run: Run) -> None:
    """A private feed with another token is a 404 that nobody keeps."""
    expect_redirect(run, "/Modhub/following", "/Modhub/account/login?next=/Modhub/following", 302, 303)
    for path in ("/Modhub/following/feed?token=nonsense", "/Modhub/following/feed.json?token=nonsense"):
        require("no-store" in run.service.get(path).expect(404).names("Cache-Control"), f"{path}: may be kept.")
