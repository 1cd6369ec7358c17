"""What is no GUID in the lists of a mod."""

from modhub_testing.mods import OWNER, mod_address, new_mod

GUID = "abcdef00-0000-4000-8000-000000000001"


def test_an_invalid_guid_is_rejected(site):
    # C-MOD-8, C-ERR-10, C-OWN-4, C-OWN-1, T-B7
    mod, own = new_mod(site), site.as_account(OWNER)
    bad = ["", GUID.replace("-", ""), "{" + GUID + "}", GUID + "\n", GUID.replace("0", "٠"), 5, None]
    for field in ("requires", "conflictsWith"):
        for value in bad:
            assert field in own.put_json(mod_address(mod), {field: [GUID, value]}, status=400).json["message"], value
    assert own.get("/api/modhub/mine").json["mods"] == [mod]
