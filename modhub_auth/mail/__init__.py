"""Email: the outbox, the transports, the worker that sends, and the links in emails."""
