"""What an installed wheel must do without extras: the README's ten lines, except DART's, and a law that ships.

python tests/try_wheel.py [README.md]
"""

import re
import sys
from pathlib import Path

import numpy as np

import stiction
from stiction import _core

place = Path(stiction.__file__).parent
assert (place / "py.typed").exists() and (place / "_core/__init__.pyi").exists()

readme = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "README.md"
example = re.findall(r"```python\n(.*?)```", readme.read_text(encoding="utf-8"), flags=re.DOTALL)[0]
exec("\n".join(line for line in example.splitlines() if "truth" not in line), {})

law = stiction.load("box")
run = stiction.rollout(law, stiction.State([0, 0, 1], velocity=[2, 0, 0], angular_velocity=[1, 2, 3]), steps=1000)
assert np.isfinite(run.position).all() and run.mode[-1] == stiction.Mode.STATIC
print(f"stiction {stiction.__version__} from {place}, form {_core.LEVEL} of the core: all well.")
