#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the virtual environment with the package, its extras and the tools of the tests.
set -eu
venv=$1
python=${PYTHON:-python3}

. "$(dirname "$0")/need.sh"

command -v "$python" >/dev/null || need python3 "Python"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    { echo "setup: Python 3.11 or later is needed; choose one with: make PYTHON=python3.12 …" >&2; exit 1; }
command -v flock >/dev/null || need util-linux "flock"
command -v cc >/dev/null || need gcc "a C compiler"
"$python" -c 'import ensurepip, venv' 2>/dev/null || need python3-venv "Python's venv module"
include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
[ -f "$include/Python.h" ] || need python3-dev "Python's C headers"

command -v java >/dev/null || [ -n "${JAVA_HOME:-}" ] || need openjdk-17-jre-headless "Java, which Spark runs on"

[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
echo "setup: installing tools and extras into $venv"
"$venv/bin/python" -m pip install -q --disable-pip-version-check --upgrade "pip>=25.1"
# setuptools and wheel: PySpark comes as sources, and is built here too, since our own build is not isolated.
"$venv/bin/python" -m pip install -q --disable-pip-version-check meson-python meson ninja "setuptools>=70.1" wheel
"$venv/bin/python" -m pip install -q --disable-pip-version-check --group dev
PATH="$PWD/$venv/bin:$PATH"; export PATH
echo "setup: building slipring"
"$venv/bin/python" -m pip install -q --disable-pip-version-check --no-build-isolation --editable '.[all]'
# The finder that pip has put there runs ninja in every process that imports the package. Directories are found by
# type checkers and by Spark, too, which lists modules to find data sources.
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
printf '%s\n' "$PWD/src" "$PWD/src/discovery" >"$site/slipring-editable.pth"
sh tools/build-package.sh "$venv"
"$venv/bin/python" -c 'import slipring; print("setup: slipring", slipring.__version__, "is ready in", "'"$venv"'")'
