"""``modhub-verify``: checks from outside whether a service keeps the contract, clause by clause.

It needs nothing but an address, so it judges any deployment, and any other implementation of the contract. Read it in
this order: :mod:`modhub_verify.checks` (what a check is), :mod:`modhub_verify.run` (what checks are given),
:mod:`modhub_verify.service` (how they call), :mod:`modhub_verify.parts` (all checks). Standard library only.
"""

__version__ = "2.0.0"
