"""The migrations of app builds."""
