"""Laws and simulators on recorded tosses."""
