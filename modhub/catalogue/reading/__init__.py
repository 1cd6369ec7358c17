"""Reading published mods: JSON, files, and what other features learn."""
