"""The formatters by the path that ini files name: it stays, because an ini outlives many versions of the code."""

from modhub.base.json_lines import JsonLineFormatter, TextLineFormatter

__all__ = ["JsonLineFormatter", "TextLineFormatter"]
