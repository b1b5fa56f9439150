#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that rivals need beside their Python packages. The run omits a rival whose program is missing, and reports it.
set -eu
. "$(dirname "$0")/need.sh"
# RUNLEVEL: install the server without starting it as a service; the suite starts its own.
export RUNLEVEL=1
command -v redis-server >/dev/null || [ "$(id -u)" != 0 ] || need redis-server "Redis, one of the rivals"
