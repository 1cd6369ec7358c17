"""Backup and restore through the database driver, from either database into either (ADR 026)."""
