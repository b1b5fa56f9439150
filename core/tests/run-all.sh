#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All tests of the core, three times over: as shipped but with warnings as errors, under ASAN and UBSAN, under TSAN;
# then two of them under valgrind, and the sources under the compiler's analyzer.
#
#   core/tests/run-all.sh [builddir-prefix]        default prefix: build-core
#
# SLIPRING_TEST_SCALE (default 1) multiplies the length of the long ones. Uses meson and ninja of the repository's
# .venv if there is one.
set -eu
cd "$(dirname "$0")/../.."
prefix=${1:-build-core}
PATH="$PWD/.venv/bin:$PATH"
scale=${SLIPRING_TEST_SCALE:-1}
summary=""
failed=0

note() { # name, exit code, what it said
    summary="$summary
  $([ "$2" -eq 0 ] && echo ok || echo FAILED)  $1${3:+: $3}"
    [ "$2" -eq 0 ] || failed=1
}

scaled() { awk "BEGIN { print $scale * $1 }"; }

build() { # directory, meson options...
    dir=$1
    shift
    [ -e "$dir/build.ninja" ] || meson setup "$dir" -Dcore_only=true -Dwerror=true "$@" || return 1
    ninja -C "$dir"
}

how_many() { # "Ok: 50", "Fail: 1" of meson's report, in words
    sed -n 's/^Ok: *\([0-9]*\).*/\1 kept/p; s/^Fail: *\([1-9][0-9]*\).*/\1 broken/p
        s/^Timeout: *\([1-9][0-9]*\).*/\1 timed out/p' "$1" | tr '\n' ' '
}

run_suite() { # name, scale, meson options...
    name=$1 length=$2 dir=$prefix-$1 code=0
    shift 2
    if ! build "$dir" "$@" >"$dir-build.log" 2>&1; then
        grep -A5 -E 'error|ERROR|FAILED' "$dir-build.log" | head -60
        note "$name" 1 "does not build, see $dir-build.log"
        return
    fi
    rm "$dir-build.log"
    SLIPRING_TEST_SCALE=$length meson test -C "$dir" --no-rebuild --print-errorlogs --num-processes 3 \
        >"$dir/run.log" 2>&1 || code=1
    [ $code -eq 0 ] || grep -v ' OK  ' "$dir/run.log" | tail -150
    note "$name" $code "$(how_many "$dir/run.log")"
    summary="$summary$(sed -n 's/^\([0-9]* \(states\|pairs\) of .* survived\).*/\n          \1/p
        s/^\([0-9]* faults in .*\)/\n          \1/p' \
        "$dir/meson-logs/testlog.txt")"
}

run_valgrind() { # program and argument
    code=0
    SLIPRING_TEST_SCALE=$(scaled 0.05) valgrind --error-exitcode=1 -q --leak-check=full \
        "$prefix-plain/core/tests/$1" ${2:+"$2"} || code=1
    note "valgrind" $code "$1"
}

# Without two of its checks, which cannot know that a header was read whole, or that a filter owns its texts.
analyze() {
    code=0
    for file in core/src/*.c; do
        cc -std=c11 -D_GNU_SOURCE -O1 -Icore/include -Icore/src -Wall -Wextra -Werror -fanalyzer \
            -Wno-analyzer-use-of-uninitialized-value -Wno-analyzer-malloc-leak -c "$file" -o /dev/null || code=1
    done
    note "analyzer" $code
}

began=$(date +%s)
run_suite plain "$scale" --buildtype=release
run_suite asan "$(scaled 0.3)" --buildtype=debugoptimized -Db_sanitize=address,undefined
# gcc warns that TSAN does not understand fences: the stamped payloads are there for what it cannot see.
run_suite tsan "$(scaled 0.2)" --buildtype=debugoptimized -Db_sanitize=thread -Db_lundef=false -Dc_args=-Wno-tsan
if command -v valgrind >/dev/null; then
    run_valgrind received_lost_and_filtered_add_up_exactly lossy
    run_valgrind loans_are_seen_when_committed_and_never_when_aborted
else
    note "valgrind" 0 "not installed, not run"
fi
if cc -fanalyzer -E -x c /dev/null >/dev/null 2>&1; then analyze; else note "analyzer" 0 "not gcc, not run"; fi

echo "core tests, $(($(date +%s) - began)) s:$summary"
exit $failed
