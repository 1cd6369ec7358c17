"""``modhub-get``: installs mods from a modhub service into a folder. The worked example for authors of clients.

Read it in this order: `commands` (what a client does), `plans` (what it asks), `service` and `answers` (how it calls,
and what it believes), `transfer` (downloads that survive bad connections), `folder` (how files are put in place).
"""
