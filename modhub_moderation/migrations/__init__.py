"""The migrations of moderation."""
