"""Database queries of the pages."""
