"""Train the networks of a law on contact instances. Needs the extra `train`."""
