"""What stays of moderation when its line is taken out of the ini."""

from tests.people import PASSWORD, register

from .cases_kit import make_case, rule


def test_hidden_stays_hidden_and_nothing_else_is_visible(start, site, ada, mo):
    # C-CAS-3
    mod, other = ada.publish("Bad tool"), ada.publish("Good tool")
    rule(site, make_case(site, ada, mod), "hide", mo)
    eve = register(site, "Eve")
    rule(site, make_case(site, eve), "block", mo)
    without = start("modhub_auth", url=str(site.registry.settings["sqlalchemy.url"]))
    without.get(f"/api/modhub/{mod['id']}", status=404)
    without.get(f"/Modhub/{mod['id']}", status=404)
    page = without.get(f"/Modhub/{other['id']}")
    assert "report" not in page.text.lower()
    for gone in ("/Modhub/advisories", "/Modhub/moderation", f"/Modhub/{other['id']}/reports"):
        without.get(gone, status=404)
    sign_in = {"email": eve.address, "password": PASSWORD}
    assert without.post_json("/api/auth/login", sign_in, status=403).json["error"] == "account_blocked"
