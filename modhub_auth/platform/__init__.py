"""Logins at game platforms."""
