"""Bodies, their states and their trajectories."""
