"""Alembic environment of the core, used by every package."""
