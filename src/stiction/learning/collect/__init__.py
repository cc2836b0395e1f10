"""Collect contact instances from throws: what to throw, in which ground truth, and how it is stored."""
