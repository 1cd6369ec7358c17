"""What pages read from the database."""
