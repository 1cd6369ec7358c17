"""Emails: the outbox, the transports, the worker that sends, and the links that emails carry."""
