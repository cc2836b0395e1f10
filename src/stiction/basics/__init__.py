"""Input checks, files, progress bars, and what is installed."""
