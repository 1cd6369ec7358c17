"""The migrations of links and profiles."""
