"""The migrations of tags."""
