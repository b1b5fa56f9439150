#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What keeps the core a core: no Python in it, memory orders spelled in one file, offsets in one file.
set -eu
cd "$(dirname "$0")/.."
fail=0
complain() { echo "check-core: $1" >&2; fail=1; }

! grep -rn 'Python\.h' core/ || complain "the core must not know Python"
! grep -rnE 'memory_order_|__ATOMIC_|atomic_(load|store|fetch|exchange|compare)' core/src --include='*.c' --include='*.h' |
    grep -v '^core/src/atomics.h:' || complain "memory orders belong into core/src/atomics.h"
! grep -rnE '\bmemcpy\([^;]*payload' core/src --exclude=copy.h || complain "payload is copied by copy.h only"
unmarked=$(git ls-files 'core/**/*.c' 'core/**/*.h' 'src/**/*.c' 'src/**/*.h' '*.py' '*.sh' |
    xargs awk 'function report() { if (NR > 1 && !found) print name }
               FNR == 1 { report(); found = 0; name = FILENAME }
               FNR <= 3 && /SPDX-License-Identifier: Apache-2.0/ { found = 1 }
               END { report() }')
[ -z "$unmarked" ] || complain "these files have no SPDX line: $unmarked"
exit $fail
