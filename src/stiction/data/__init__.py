"""Data sets of contact instances, and the ground truths that they come from."""
