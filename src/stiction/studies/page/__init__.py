"""The page that tells what the studies found, and the viewer. Needs the extra `report`."""
