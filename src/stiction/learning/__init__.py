"""From throws and recordings to laws."""
