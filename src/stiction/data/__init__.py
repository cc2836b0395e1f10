"""Data sets of contact instances: what to throw, how to collect it, how it is stored."""
