"""The studies behind stiction: the paper reproduced, rival simulators, benchmarks and the pages of results."""
