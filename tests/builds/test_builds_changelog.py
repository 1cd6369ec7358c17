"""The app changelog: sections are added on top and withdrawn."""

KB = 1024


def shown(agent):
    return agent.list()["changelog"]


def test_sections_go_on_top_and_come_back(agent):
    # C-APP-8, C-APP-10
    assert shown(agent) == ""
    assert agent.push(b"1.0\n- First").json == {"characters": 11, "whole": 11}
    assert agent.push(b"1.1\n- Second").json == {"characters": 12, "whole": 25}
    assert shown(agent) == "1.1\n- Second\n\n1.0\n- First"
    assert agent.pop().json == {"changelog": "1.0\n- First", "characters": 11}
    assert agent.pop().json == {"changelog": "", "characters": 0}
    assert agent.pop(status=404).json["error"] == "not_found"
    assert shown(agent) == ""


CLEANED = {
    b"1.0\r- a\r- b\r": "1.0\n- a\n- b",
    b"\n\r\n \t\n  1.0\n\n- a  \n \n\n": "  1.0\n\n- a  ",
    "\ufeff1.0".encode(): "1.0",
    "u\u0308ber".encode(): "\u00fcber",
    b"a\0b\x1b[31mc\x7f": "ab[31mc",
    b"<script>alert(1)</script> & <b>": "<script>alert(1)</script> & <b>",
    # The limit is of bytes, the answer's lengths are characters.
    ("\u00fc" * 128 * KB).encode(): "\u00fc" * 128 * KB,
}


def test_a_section_is_stored_as_plain_text(agent):
    # C-APP-8, C-APP-11
    for body, kept in CLEANED.items():
        assert agent.push(body).json == {"characters": len(kept), "whole": len(kept)}
        assert shown(agent) == kept
        agent.pop()
