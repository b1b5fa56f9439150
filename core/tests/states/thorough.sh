#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every crash state, and every state of every recoverer recovered in all three ways (make test: in one of them).
set -eu
cd "$(dirname "$0")/../../.."
PATH="$PWD/.venv/bin:$PATH"
dir=build-core-plain
[ -e $dir/build.ninja ] || meson setup $dir -Dcore_only=true -Dwerror=true --buildtype=release >/dev/null
ninja -C $dir >/dev/null
for of in "lossy, many" "lossy, one" "reliable, many" "reliable, one"; do
    $dir/core/tests/every_crash_state_of_topics_is_survived "worlds=$of" thorough=1
done
for subject in cells frames files; do $dir/core/tests/every_crash_state_of_${subject}_is_survived thorough=1; done
