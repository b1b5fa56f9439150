#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the C core and its test programs in a named variant, in build-core/VARIANT. Callers take turns.
#
#   tools/build-core.sh VARIANT [TARGET…]          all targets unless some are named
#   tools/build-core.sh VARIANT build.ninja        configures only
#
#   shipped       as in the wheel; also the core in which each store is a step (crash states, schedules)
#   asan          ASAN and UBSAN; also the core with crash points
#   tsan          TSAN
#   defects       as shipped, with the planted defects compiled in (SLIPRING_DEFECT chooses one)
#   package_defects  the Python package with the planted defects, to be imported from build-core/package_defects/package
#   fuzz          the fuzz targets, by clang
#   fuzz_defects  the fuzz targets with the planted defects
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
variants="shipped, asan, tsan, defects, package_defects, fuzz, fuzz_defects"
variant=${1:?"name a variant: $variants"}
shift
fuzz="-Dfuzz=true -Doptimization=1 -Ddebug=true -Db_sanitize=address,undefined -Db_lundef=false"
case $variant in
shipped) options="--buildtype=release" ;;
asan) options="--buildtype=debugoptimized -Db_sanitize=address,undefined" ;;
# gcc warns that TSAN does not understand fences: the stamped payloads are there for what it cannot see.
tsan) options="--buildtype=debugoptimized -Db_sanitize=thread -Db_lundef=false -Dc_args=-Wno-tsan" ;;
defects) options="-Doptimization=1 -Ddebug=true -Ddefects=true" ;;
package_defects) options="--buildtype=release -Ddefects=true" only=false ;;
fuzz) options=$fuzz ;;
fuzz_defects) options="$fuzz -Ddefects=true" ;;
*)
    echo "build-core: $variant is not a variant; allowed: $variants" >&2
    exit 2
    ;;
esac
case $variant in fuzz*) compiler=clang ;; *) compiler=gcc ;; esac
command -v $compiler >/dev/null || { echo "build-core: no $compiler: run tools/test-tools.sh" >&2; exit 1; }
if [ -z "${CC:-}" ]; then
    if command -v ccache >/dev/null; then CC="ccache $compiler"; else CC=$compiler; fi
    export CC
fi
dir=build-core/$variant
mkdir -p build-core
exec 9>"build-core/.$variant.lock"
flock 9
log=build-core/$variant.log
options="-Dcore_only=${only:-true} -Dcore_tests=${only:-true} -Dwerror=true $options"
# shellcheck disable=SC2086
[ -e "$dir/build.ninja" ] && [ "$(cat "$dir.options" 2>/dev/null)" = "$options" ] ||
    { rm -rf "$dir" && meson setup "$dir" $options && echo "$options" >"$dir.options"; } >"$log" 2>&1 9>&- ||
    { cat "$log" >&2; exit 1; }
ninja -C "$dir" "$@" >"$log" 2>&1 9>&- || { grep -vE '^\[[0-9]+/[0-9]+\]' "$log" | tail -60 >&2; exit 1; }
[ "$variant" = package_defects ] || exit 0
package=$dir/package/slipring
mkdir -p "$package"
cp -u --remove-destination "$dir"/src/slipring/_native*.so "$package"
for part in src/slipring/*; do
    case $part in */_native | */__pycache__) continue ;; esac
    [ -e "$package/${part##*/}" ] || ln -sfn "$PWD/$part" "$package/"
done
