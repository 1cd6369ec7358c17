"""Presenters: what pages show, derived from rows and documents."""
