"""Learning: from contact instances to the networks of a law. Needs the extra `train`."""
