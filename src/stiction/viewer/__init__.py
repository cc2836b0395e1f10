"""The viewer in the browser: thrown bodies and robots."""
