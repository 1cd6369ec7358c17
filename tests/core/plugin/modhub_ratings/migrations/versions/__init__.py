"""One a change."""
