"""What happens to accounts, for whoever watches over them: the core's journal, without an address in it."""

from modhub.journal import note

__all__ = ["note"]
