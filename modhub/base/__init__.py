"""What every other part may use, and that uses nothing but ``content``."""
