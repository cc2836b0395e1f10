"""Contact laws: what decides the mode and the friction of a contact."""
