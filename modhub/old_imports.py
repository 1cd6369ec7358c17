"""Imports ``pkg_resources``, which Pyramid 2.1 needs, without the warning that an operator could do nothing about.

The first import alone warns; so this is the first module that the package imports.
"""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", UserWarning)
    import pkg_resources  # noqa: F401
