import pytest

from modhub.base.body_rules import BodyRules

CODE = 64 * 1024 * 1024


def rules():
    table = BodyRules()
    table.add(["POST"], "/api/modhub/{id}/{kind}", 3, "Authorization")
    table.add(["POST"], "/api/modhub/{id}/code", CODE, "Authorization")
    table.add(["POST"], "/api/modhub/{id}/code", 1, None)
    table.add(["POST"], "/api/modhub/app/{os}", CODE, "X-Api-Key")
    table.add(["PUT", "POST"], "/Modhub/api/wiki/{path...}", 5, "X-Api-Key")
    table.add(["DELETE"], "/x", 7)
    return table


@pytest.mark.parametrize(
    ("method", "path", "limit"),
    [
        ("POST", "/api/modhub/12/code", CODE),
        ("POST", "//api//modhub/12//code", CODE),
        ("POST", "/api/modhub/x/../code", None),
        ("POST", "/api/modhub/../code", CODE),
        ("POST", "/api/modhub/12/css", 3),
        ("POST", "/api/modhub/app/code", CODE),
        ("PUT", "/Modhub/api/wiki", 5),
        ("DELETE", "/x", 7),
        ("D", "/x", None),
        ("GET", "/api/modhub/12/code", None),
        ("POST", "/api/modhub/12/code/more", None),
        ("POST", "/api/modhub", None),
    ],
)
def test_the_most_literal_match_wins_on_segments_as_traversal_counts_them(method, path, limit):
    rule = rules().find(method, path)
    assert (rule and rule.limit) == limit


def test_the_first_added_of_two_equals_wins_and_names_its_credential():
    assert rules().find("POST", "/api/modhub/1/code").credential == "Authorization"
    assert rules().find("POST", "/api/modhub/app/code").credential == "X-Api-Key"


@pytest.mark.parametrize(("pattern", "limit"), [("/a/{x...}/b", 1), ("a/b", 1), ("/a", -1)])
def test_a_rule_that_makes_no_sense_is_refused(pattern, limit):
    with pytest.raises(ValueError, match="body rule"):
        BodyRules().add(["POST"], pattern, limit)
