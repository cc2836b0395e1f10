"""The two ways to put a law on a body inside MuJoCo that are compared, as they are called."""

from stiction._core import TOUCH

POINTS = "material, MuJoCo's points"  # the point solver
UNFORESEEN = "the same, contacts not foreseen"
ATTACHED = "law of the body, Algorithm 2"
NO_GAP = TOUCH  # [m] at which a contact is not foreseen: it is seen once it touches, as in a rollout
EXACT = 1e-6  # tolerance of Algorithm 2 for a law whose answers are exact
