#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What keeps the core a core: no Python in it, memory orders spelled in one file, offsets in one file.
set -eu
cd "$(dirname "$0")/.."
fail=0
complain() { echo "check-core: $1" >&2; fail=1; }

! grep -rn 'Python\.h' core/ || complain "the core must not know Python"
! grep -rnE 'memory_order_|__ATOMIC_|atomic_(load|store|fetch|exchange|compare)' core/src --include='*.c' --include='*.h' |
    grep -v '^core/src/base/atomics.h:' || complain "memory orders belong into core/src/base/atomics.h"
! grep -rnE '\bmemcpy\([^;]*payload' core/src --exclude=copy.h || complain "payload is copied by copy.h only"
# A room includes only rooms before it: base wait topic ring ports, then cells and frames, which do not know each other.
upward=$(grep -n '^#include ".*/' core/src/*/*.[ch] | awk -F'[/:"]' '
    BEGIN { split("base wait topic ring ports cells frames", rooms, " "); for (i in rooms) rank[rooms[i]] = i }
    !($7 in rank) || rank[$7] > rank[$3] || ($3 == "frames" && $7 == "cells") { print }')
[ -z "$upward" ] || complain "these includes point to a later room: $upward"
unmarked=$(git ls-files 'core/**/*.c' 'core/**/*.h' 'src/**/*.c' 'src/**/*.h' '*.py' '*.sh' |
    xargs awk 'function report() { if (NR > 1 && !found) print name }
               FNR == 1 { report(); found = 0; name = FILENAME }
               FNR <= 3 && /SPDX-License-Identifier: Apache-2.0/ { found = 1 }
               END { report() }')
[ -z "$unmarked" ] || complain "these files have no SPDX line: $unmarked"
exit $fail
