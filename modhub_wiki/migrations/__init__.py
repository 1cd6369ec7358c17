"""The migrations of the wiki."""
