#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the tests need beyond the package itself: a test that is skipped for want of a tool is a test not run.
set -eu
. "$(dirname "$0")/need.sh"
command -v chromium >/dev/null || need chromium "a browser to look at the demo's report with"
command -v flatc >/dev/null || need flatbuffers-compiler "the FlatBuffers compiler"
command -v valgrind >/dev/null || need valgrind "valgrind"
command -v unshare >/dev/null || need util-linux "unshare and setpriv"
command -v mount >/dev/null || need mount "mount"
command -v spin >/dev/null || need spin "the model checker of the protocol models"
command -v gcc >/dev/null || need gcc "a C compiler, for tests/foreign"
{ command -v javac && command -v java; } >/dev/null || need openjdk-17-jdk-headless "a Java compiler, for tests/foreign"
command -v clang >/dev/null || need clang "the compiler of the fuzz targets, tests/fuzz"
# libFuzzer and the sanitizers' run-time libraries, which clang only recommends.
ls "$(clang -print-resource-dir)"/lib/linux/libclang_rt.fuzzer-*.a >/dev/null 2>&1 ||
    need "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev" "libFuzzer"
