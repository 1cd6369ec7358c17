"""The migrations of following."""
