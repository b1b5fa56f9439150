#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The names of all crash points in the given sources, as a C initialiser: a point nobody reaches fails a test.
set -eu
grep -ho 'SLR_CRASH_POINT("[^"]*")' "$@" | sed 's/SLR_CRASH_POINT(\(.*\))/\1,/' | sort -u
