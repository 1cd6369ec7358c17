"""The command ``modhub-admin``, and ``pserve``'s sentences: programs for the operator."""
