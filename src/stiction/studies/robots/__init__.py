"""Laws on links of robots: a three-link chain and a quadruped."""
