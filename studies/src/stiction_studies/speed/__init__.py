"""The benchmark: speed as a ratio to MuJoCo, DART and Bullet."""
