"""``modhub-publish``, for build agents. :mod:`modhub_publish.publish` is the whole program."""
