"""Revisions of the core."""
