"""The way to report a mod: a feature's, else the operator's contact page, else none."""

from modhub.plugins.moderation import IReportForms
from modhub_testing import TEST_ACCOUNTS
from modhub_testing.mods import OWNER, new_mod, published_mod
from modhub_testing.pages import messages_on, new_visitor

BASE = "https://mods.example.org"
REPORT = ".report a"


def contact_page(folder):
    (folder / "contact.md").write_text("Write to us.", "utf-8")
    return str(folder / "contact.md")


def test_a_mod_is_reported_to_the_contact_page(start, tmp_path):
    site = start(TEST_ACCOUNTS, modhub__contact=contact_page(tmp_path), modhub__base_url=BASE)
    mod = published_mod(site)
    for visitor in (site, new_visitor(site, 8)):
        link = visitor.get(mod["url"]).html.select_one(REPORT)
        assert (link["href"], link["rel"]) == (f"/Modhub/contact?mod={mod['id']}", ["nofollow"])
        page = visitor.get(link["href"])
        assert messages_on(page) == ["about_a_mod"]
        assert page.html.select_one("main .note a").text == BASE + mod["url"]
    assert not new_visitor(site, OWNER).get(mod["url"]).html.select(REPORT)
    # It repeats numbers alone, and knows no drafts.
    draft = new_mod(site, title="Draft")
    for typed in ("", "?mod=", "?mod=01", "?mod=%3Cscript%3E", "?mod=" + "9" * 40):
        assert messages_on(site.get(f"/Modhub/contact{typed}")) == [], typed
    known, unknown = (site.get(f"/Modhub/contact?mod={number}").text for number in (draft["id"], 999))
    assert known == unknown.replace("999", str(draft["id"]))


class ReportForms:
    def mod_address(self, mod_id):
        return f"/Modhub/{mod_id}/notice"


def includeme(config):
    """A feature that takes notices."""
    config.add_service(IReportForms, ReportForms())


def test_a_feature_takes_its_place(start, tmp_path):
    site = start(f"{TEST_ACCOUNTS} tests.core.test_pages_report", modhub__contact=contact_page(tmp_path))
    mod = published_mod(site)
    page = site.get(mod["url"])
    assert [link["href"] for link in page.html.select(REPORT)] == [f"{mod['url']}/notice"]
    assert not new_visitor(site, OWNER).get(mod["url"]).html.select(REPORT)
