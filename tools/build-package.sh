#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds what has changed of the compiled part of the package, for the virtual environment $1. `make` and pytest begin
# with it; a program that imports the package never builds.
set -eu
cd "$(dirname "$0")/.."
bin=$1/bin
tag=$("$bin/python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
if [ ! -d "build/$tag" ]; then
    echo "setup: build/$tag is missing; to build it again, run: make clean && make setup" >&2
    exit 1
fi
# Two ninjas in one build directory would spoil each other's log.
flock build/.turn "$bin/ninja" -C "build/$tag" --quiet
extension=src/slipring/_native.abi3.so
[ "$extension" -ef "build/$tag/$extension" ] || ln -sfn "../../build/$tag/$extension" "$extension"
