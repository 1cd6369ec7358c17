"""The migrations of following the catalogue."""
