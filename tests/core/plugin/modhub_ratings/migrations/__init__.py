"""The feature's migrations."""
