"""What every room uses: refusals, files, progress bars and versions."""
