"""Other simulators, as ground truth, as peers on recorded tosses and as contestants in speed."""
