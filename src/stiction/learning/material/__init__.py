"""Learning a material: friction at a point, from the contacts of one body or of many."""
