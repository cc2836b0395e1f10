#!/bin/sh
# Build a wheel into dist, and try it in a new environment outside of the source tree: its laws, both forms of the core.
set -eu
cd "$(dirname "$0")/.."
source=$PWD

# The tools of .venv, and what `make` has compiled with the same settings.
rm -rf dist build/wheel
mkdir -p build/wheel
PATH=$PWD/.venv/bin:$PATH
pip --disable-pip-version-check wheel -q --no-deps --no-build-isolation -w dist \
    -C cmake.define.STICTION_WERROR="${WERROR:-OFF}" .

# On Linux, its name tells which C library it needs at least. A wheel for older systems is built on an older system:
# cibuildwheel does it.
if [ "$(uname)" = Linux ]; then
    auditwheel repair --only-plat -w dist/named dist/*.whl >build/wheel/audit.txt 2>&1 || { cat build/wheel/audit.txt; exit 1; }
    rm dist/*.whl
    mv dist/named/*.whl dist
    rmdir dist/named
fi
ls -l dist | awk 'NF > 8 { print $9 ": " $5 " bytes" }'

.venv/bin/python -m venv build/wheel/try
build/wheel/try/bin/python -m pip --disable-pip-version-check install -q -c constraints.txt dist/*.whl
build/wheel/try/bin/python -m pip --disable-pip-version-check list --format=freeze | grep -v -E '^(pip|setuptools)=' | tr '\n' ' '
echo
cd /
for level in "" baseline; do
    STICTION_CORE=$level "$source/build/wheel/try/bin/python" "$source/tests/try_wheel.py" "$source/README.md"
done
"$source/build/wheel/try/bin/stiction" --version
