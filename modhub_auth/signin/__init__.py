"""Signing in: registration, authentication, second factor, recovery, sessions and tokens."""
