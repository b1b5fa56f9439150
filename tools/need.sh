# SPDX-License-Identifier: Apache-2.0
# Sourced by the set-up scripts: what is missing on the machine is installed when we are root on Debian, else named with
# the command that installs it.
need() { # package, what it is for
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "setup: installing $1 ($2)"
        apt-get install -y -qq "$1" >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq "$1" >/dev/null; }
    else
        echo "setup: $2 is missing; install it with: sudo apt-get install $1" >&2
        exit 1
    fi
}
