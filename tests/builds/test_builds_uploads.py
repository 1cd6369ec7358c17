"""``POST /api/modhub/app/{os}``: what is accepted and rejected; nothing is stored after an error."""

from urllib.parse import quote

from modhub.base.body_rules import BodyRules
from modhub_builds import limits
from modhub_testing import stored_files

MB = 1024 * 1024


def test_plausible_platforms(agent):
    # C-APP-1
    for os in ("windows", "a", "0", "7", "linux-arm64", "a-b-c-d", "con", "feed", "x" * 32):
        assert agent.upload(os).json["os"] == os
        assert agent.site.get(f"/Modhub/app/{os}").body == b"a build"


HOSTILE = [
    *("Windows", "win%20dows", "windows%0a", "windows%00", "-windows", "windows-", "win--dows", "-", "win.dows", "*"),
    *("x" * 33, "%D9%A3", "%EF%BD%97indows", "windows%E2%80%AE"),
]


def test_implausible_platforms_are_400_and_keep_nothing(agent):
    # C-APP-1, T-A6
    for os in HOSTILE:
        answer = agent.upload(os, status=400)
        assert answer.json["error"] == "invalid_input"
        assert "operating system" in answer.json["message"], os
        assert "at most 32 characters" in answer.json["message"], os
    assert agent.list()["builds"] == []
    assert stored_files(agent.site) == []


OCTETS = "application/octet-stream"
HTML = "text/html; charset=utf-8"
SENT = {
    "name": {
        "..": "modhub-linux.zip",
        "../../etc/passwd": "passwd",
        'Überlauf "日本;.zip': 'Überlauf "日本;.zip',
    },
    "version": {"  1.4 \t": "1.4", "<b>": "<b>", "9" * MB: "9" * 64},
    "type": {"application/zip": "application/zip", HTML: HTML, "nonsense": OCTETS, "a/b" * 200: OCTETS},
}
"""What is sent with a build, and what is kept of it."""


def test_names_are_leaves_versions_are_labels_and_types_are_stored(agent):
    # C-APP-3, T-A6
    for field, cases in SENT.items():
        for sent, kept in cases.items():
            if field == "type":
                agent.upload("linux", content_type=sent)
            else:
                agent.upload("linux", query=f"?{field}={quote(sent)}")
            answer = agent.site.get("/Modhub/app/linux")
            disposition = answer.headers["Content-Disposition"]
            shown = {**agent.list()["builds"][0], "type": answer.headers["Content-Type"]}
            assert shown[field] == kept
            assert disposition.startswith("attachment; ")
            assert disposition.isascii()
            assert disposition.isprintable()


def test_a_build_has_its_limit_and_no_byte_more(agent, monkeypatch):
    # C-APP-3
    monkeypatch.setattr(limits, "BUILD", 1000)
    assert agent.upload(body=b"x" * 1000).json["bytes"] == 1000
    assert agent.upload(body=b"y" * 1001, status=413).json["limitBytes"] == 1000
    assert len(stored_files(agent.site)) == 1


def test_the_server_knows_the_limits_and_the_credential(agent):
    rules = agent.site.find_service(BodyRules)
    build = rules.find("POST", "/api/modhub/app/linux")
    section = rules.find("POST", "/api/modhub/app/changelog")
    assert (build.limit, build.credential) == (64 * MB, "X-Api-Key")
    assert (section.limit, section.credential) == (256 * 1024, "X-Api-Key")
    assert rules.find("DELETE", "/api/modhub/app/changelog").credential == "X-Api-Key"
