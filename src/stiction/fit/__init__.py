"""The fitting kit: bodies, joints and friction identified from recorded motion."""
