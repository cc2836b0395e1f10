"""What moves: bodies, their shapes and their states."""
