"""Run on the machine: asks as fast as it can, each time over a new connection, until it is interrupted."""

import itertools
import json
import sys

from walk import ask, sign_in

MOD = int(sys.argv[2])


def main():
    token, failures, answered = sign_in(), [], 0
    calls = [
        ("GET", "/api/modhub", None, ""),
        ("GET", "/api/modhub?q=load&game=Portal", None, ""),
        ("GET", "/Modhub?q=load+un&sort=top", None, ""),
        ("GET", f"/Modhub/{MOD}", None, ""),
        ("GET", f"/api/modhub/{MOD}/download", None, ""),
        ("PUT", f"/api/modhub/{MOD}", {"title": "Under load"}, token),
    ]
    try:
        for method, path, body, credential in itertools.cycle(calls):
            try:
                ask(200, method, path, body, token=credential)
                answered += 1
            except (AssertionError, OSError) as error:
                failures.append(repr(error)[:300])
    except KeyboardInterrupt:
        sys.stdout.write(json.dumps({"answered": answered, "failures": failures}) + "\n")


if __name__ == "__main__":
    main()
