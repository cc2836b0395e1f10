"""Recorded tosses: read, check and keep them. Needs the extra `record`."""
