"""``modhub-publish`` for build agents; the program without ``mod`` is :mod:`modhub_client.publish.command`."""
