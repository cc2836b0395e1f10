"""Other simulators, as ground truth and as hosts. The only modules that import them."""
