"""What moderators and operators do with mods."""
