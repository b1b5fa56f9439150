#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What rivals need beyond their Python packages. A missing one is left out of the run, which says so: nothing fails for it.
set -eu
. "$(dirname "$0")/need.sh"
# RUNLEVEL: it is to be there, not to run as a service; the suite starts one of its own.
export RUNLEVEL=1
command -v redis-server >/dev/null || [ "$(id -u)" != 0 ] || need redis-server "Redis, one of the rivals"
