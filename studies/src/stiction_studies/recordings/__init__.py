"""The studies of recorded tosses, and the fits of rival simulators."""
