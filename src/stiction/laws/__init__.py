"""Laws: what decides the mode and the friction of a contact. One file a law."""
