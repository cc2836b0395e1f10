"""The page of results: sections, replays, posters and animations."""
