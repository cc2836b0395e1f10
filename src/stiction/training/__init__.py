"""Training of the paper's networks and of other approximators from a data set."""
