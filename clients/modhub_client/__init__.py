"""The programs for other machines: `get` installs mods, `publish` publishes, `verify` checks a service.

Standard library only.
"""

__version__ = "2.0.0"
