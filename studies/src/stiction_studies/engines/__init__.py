"""The rival simulators: MuJoCo, Bullet and DART in the same scenes."""
