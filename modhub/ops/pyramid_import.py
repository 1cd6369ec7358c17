"""Imports Pyramid without the warning that it causes, about which an operator could do nothing.

Pyramid 2.1 needs ``pkg_resources``, which warns when it is imported first; so this comes before all else of Pyramid.
"""

import warnings

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "pkg_resources is deprecated", UserWarning)
    import pyramid.asset  # noqa: F401
