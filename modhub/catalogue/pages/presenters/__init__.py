"""What pages show, made from rows and documents."""
