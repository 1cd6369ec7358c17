"""The migrations of download counts."""
