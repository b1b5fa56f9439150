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
for file in $(git ls-files 'core/**/*.c' 'core/**/*.h' 'src/**/*.c' 'src/**/*.h' '*.py' '*.sh'); do
    head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || complain "$file has no SPDX line"
done
exit $fail
