"""``modhub-get``: installs mods from a modhub service into a folder. The worked example for authors of clients.

Read it in this order: :mod:`modhub_get.commands` (what a client does), :mod:`modhub_get.plans` (what it asks),
:mod:`modhub_get.service` and :mod:`modhub_get.answers` (how it calls, and what it believes), :mod:`modhub_get.transfer`
(downloads that survive bad connections), :mod:`modhub_get.folder` (how files are put in place). Standard library only.
"""

__version__ = "2.0.0"
