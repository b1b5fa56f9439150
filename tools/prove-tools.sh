#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `make prove` needs beyond the tools of `make test`.
set -eu
here=$(dirname "$0")
sh "$here/test-tools.sh"
. "$here/need.sh"
command -v spin >/dev/null || need spin "the model checker"
{ command -v javac && command -v java; } >/dev/null || need openjdk-17-jdk-headless "a Java compiler, for tests/foreign"
