#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the virtual environment with the package, its extras and the tools of the tests. What is missing on the
# machine is installed when we are root on Debian, else named with the command that installs it.
set -eu
venv=$1
python=${PYTHON:-python3}

install_or_name() { # package, what it is for
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "setup: installing $1 ($2)"
        apt-get install -y -qq "$1" >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq "$1" >/dev/null; }
    else
        echo "setup: $2 is missing; install it with: sudo apt-get install $1" >&2
        exit 1
    fi
}

command -v "$python" >/dev/null || install_or_name python3 "Python"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    { echo "setup: Python 3.11 or later is needed; choose one with: make PYTHON=python3.12 …" >&2; exit 1; }
command -v cc >/dev/null || install_or_name gcc "a C compiler"
"$python" -c 'import ensurepip, venv' 2>/dev/null || install_or_name python3-venv "Python's venv module"
include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
[ -f "$include/Python.h" ] || install_or_name python3-dev "Python's C headers"

[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
echo "setup: installing tools and extras into $venv"
"$venv/bin/python" -m pip install -q --disable-pip-version-check --upgrade "pip>=25.1"
"$venv/bin/python" -m pip install -q --disable-pip-version-check meson-python meson ninja
"$venv/bin/python" -m pip install -q --disable-pip-version-check --group dev
PATH="$PWD/$venv/bin:$PATH" NINJA="$PWD/tools/ninja-in-turn"; export PATH NINJA
echo "setup: building slipring"
"$venv/bin/python" -m pip install -q --disable-pip-version-check --no-build-isolation --editable '.[all]'
"$venv/bin/python" -c 'import slipring; print("setup: slipring", slipring.__version__, "is ready in", "'"$venv"'")'
