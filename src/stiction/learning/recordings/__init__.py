"""Recorded tosses: read, check and keep them. Needs the extra `data`, for .mcap files `record`."""
