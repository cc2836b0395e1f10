"""The studies of robots, grasps and chains."""
