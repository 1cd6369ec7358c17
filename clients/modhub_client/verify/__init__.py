"""``modhub-verify``: checks from outside whether a service keeps the contract, clause by clause.

It needs nothing but an address, so it judges any deployment, and any other implementation of the contract. Read it in
this order: `checks` (what a check is), `run` (what checks are given), `service` (how they call), `parts` (all checks).
"""
