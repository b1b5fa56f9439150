#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All tests of the core, three times over: as shipped but with warnings as errors, under ASAN and UBSAN, under TSAN; then two
# of them under valgrind and the sources under the compiler's analyzer.
#
#   core/tests/run-all.sh [builddir-prefix]        default prefix: build-core
#
# SLIPRING_TEST_SCALE (default 1) multiplies the length of the long ones. Uses meson and ninja of the repository's .venv.
set -eu
cd "$(dirname "$0")/../.."
prefix=${1:-build-core}
PATH="$PWD/.venv/bin:$PATH"
summary=""
failed=0

note() { # name, exit code, what it said
    summary="$summary
  $([ "$2" -eq 0 ] && echo ok || echo FAILED)  $1${3:+: $3}"
    [ "$2" -eq 0 ] || failed=1
}

run_suite() { # name, scale, meson options...
    name=$1 scale=$2 dir=$prefix-$1
    shift 2
    [ -e "$dir/build.ninja" ] || meson setup "$dir" -Dcore_only=true -Dwerror=true "$@" >"$dir.log" 2>&1 || {
        cat "$dir.log"
        note "$name" 1 "cannot be configured"
        return
    }
    rm -f "$dir.log"
    ninja -C "$dir" >"$dir/ninja.log" 2>&1 || {
        grep -A5 -E 'error|FAILED' "$dir/ninja.log" | head -60
        note "$name" 1 "does not build"
        return
    }
    code=0
    SLIPRING_TEST_SCALE=$scale meson test -C "$dir" --no-rebuild --print-errorlogs --num-processes 3 >"$dir/run.log" 2>&1 || code=1
    [ $code -eq 0 ] || sed -n '/exit status\|TIMEOUT\|FAIL\|stderr\|stdout/,$p' "$dir/run.log" | head -150
    note "$name" $code "$(sed -n 's/^Ok: *\([0-9]*\).*/\1 kept/p; s/^Fail: *\([1-9][0-9]*\).*/\1 broken/p; s/^Timeout: *\([1-9][0-9]*\).*/\1 timed out/p' "$dir/run.log" | tr '\n' ' ')"
    sed -n 's/.*\([0-9][0-9]* \(states\|pairs\) of .* survived.*\)/      \1/p' "$dir/meson-logs/testlog.txt" >"$dir/states.log"
    summary="$summary$(sed 's/^/\n/' "$dir/states.log")"
}

scale=${SLIPRING_TEST_SCALE:-1}
scaled() { awk "BEGIN { print $scale * $1 }"; }
began=$(date +%s)
run_suite plain "$scale" --buildtype=release
run_suite asan "$(scaled 0.3)" --buildtype=debugoptimized -Db_sanitize=address,undefined
run_suite tsan "$(scaled 0.2)" --buildtype=debugoptimized -Db_sanitize=thread -Db_lundef=false -Dc_args=-Wno-tsan

if command -v valgrind >/dev/null; then
    for test in 'received_lost_and_filtered_add_up_exactly lossy' loans_are_seen_when_committed_and_never_when_aborted; do
        code=0
        # shellcheck disable=SC2086 # a name and its argument
        SLIPRING_TEST_SCALE=$(scaled 0.05) valgrind --error-exitcode=1 -q --leak-check=full "$prefix-plain/core/tests/"$test || code=1
        note "valgrind: ${test%% *}" $code
    done
else
    note "valgrind: not installed, not run" 0
fi

# Not the two checks that cannot know that a header was read whole, or that a filter owns its texts.
code=0
for file in core/src/*.c; do
    cc -std=c11 -D_GNU_SOURCE -O1 -Icore/include -Icore/src -fanalyzer -Wno-analyzer-use-of-uninitialized-value \
        -Wno-analyzer-malloc-leak -Wall -Wextra -Werror -c "$file" -o /dev/null || code=1
done
note "analyzer" $code

echo "core tests, $(($(date +%s) - began)) s:$summary"
exit $failed
