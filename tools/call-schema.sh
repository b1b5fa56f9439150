#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Generates the Python code of docs/spec/call.fbs into a directory: src/slipring/_bus/calls/generated unless told.
set -eu
repository=$(cd "$(dirname "$0")/.." && pwd)
into=${1:-$repository/src/slipring/_bus/calls/generated}
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
flatc --python -o "$scratch" "$repository/docs/spec/call.fbs"
mkdir -p "$into"
for file in "$scratch"/slipring/call/*.py; do
    { echo "# SPDX-License-Identifier: Apache-2.0"; cat "$file"; } > "$into/$(basename "$file")"
done
