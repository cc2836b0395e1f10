#!/bin/sh
# The tests named on the command line, with a core that AddressSanitizer and UndefinedBehaviorSanitizer watch.
# It lives in build/sanitize with an environment of its own, which takes all other packages from .venv.
set -eu
cd "$(dirname "$0")/.."
folder=$PWD/build/sanitize

.venv/bin/python -c 'import sys; sys.exit(sys.platform != "linux")' || { echo "make sanitize needs Linux."; exit 1; }
PATH=$PWD/.venv/bin:$PATH
.venv/bin/cmake -S . -B "$folder/core" -G Ninja -DSTICTION_SANITIZE=ON -DSTICTION_WERROR=ON \
    -DPython_EXECUTABLE="$PWD/.venv/bin/python" -Dnanobind_DIR="$(.venv/bin/python -m nanobind --cmake_dir)" >/dev/null
.venv/bin/cmake --build "$folder/core" -- --quiet

packages='import sysconfig; print(sysconfig.get_path("purelib"))'
.venv/bin/python -m venv --without-pip "$folder/venv"
own=$("$folder/venv/bin/python" -c "$packages")
rm -rf "$own/stiction"
cp -r src/stiction "$own"
.venv/bin/cmake --install "$folder/core" --prefix "$own" >/dev/null
.venv/bin/python -c "$packages" >"$own/others.pth" # the .pth files there, such as that of the usual core, are not read

# The runtime of the compiler that was used, ahead of everything else. Python itself gives memory back only in part.
cxx=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$folder/core/CMakeCache.txt")
export LD_PRELOAD="$($cxx -print-file-name=libasan.so) $($cxx -print-file-name=libubsan.so) $($cxx -print-file-name=libstdc++.so)"
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc
STICTION_CORE=baseline "$folder/venv/bin/python" -m pytest -p no:cacheprovider -m "not slow" "$@"
