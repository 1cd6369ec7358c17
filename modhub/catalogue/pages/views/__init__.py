"""The HTML views."""
