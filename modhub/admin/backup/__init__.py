"""Backup and restore through the database driver, from either database into either (docs/adr/026-backup-format.md)."""
