#!/bin/sh
# MuJoCo in versions that the step was not tested with: each is refused in one sentence, before any of its memory is read.
# The tests themselves run with the version in constraints.txt, the only release so far that the core supports.
set -eu
cd "$(dirname "$0")/.."
for package in mujoco-core==4.0.0 mujoco==3.17.0; do
    folder=build/other-mujoco/$package
    [ -d "$folder/mujoco" ] || .venv/bin/python -m pip --disable-pip-version-check install -q --no-deps --target "$folder" "$package"
    PYTHONPATH=$folder .venv/bin/python - "${package##*==}" <<'CHECK'
import sys

import stiction

try:
    stiction.mujoco.Simulation
except stiction.InputError as error:
    expected = f"stiction.mujoco needs MuJoCo 4.0.1 or a newer 4.x, this is MuJoCo {sys.argv[1]}."
    sys.exit(None if str(error) == expected else f"another sentence: {error}")
sys.exit(f"MuJoCo {sys.argv[1]} was accepted.")
CHECK
    echo "$package: refused"
done
