"""``modhub-publish`` for build agents; the whole program is :mod:`modhub_publish.publish`."""
