"""What owners do with their mods."""
