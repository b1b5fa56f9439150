#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `make test` needs beyond the package itself: a test that is skipped for want of a tool is a test not run.
set -eu
. "$(dirname "$0")/need.sh"
command -v chromium >/dev/null || need chromium "a browser for the pages"
command -v flatc >/dev/null || need flatbuffers-compiler "the FlatBuffers compiler"
command -v valgrind >/dev/null || need valgrind "the counter of instructions"
command -v unshare >/dev/null || need util-linux "unshare and setpriv"
command -v mount >/dev/null || need mount "mount"
command -v pkg-config >/dev/null || need pkg-config "the flags of the installed C library"
command -v gcc >/dev/null || need gcc "the C compiler of the core's test programs"
command -v ccache >/dev/null || need ccache "the cache of compiled test programs"
command -v clang >/dev/null || need clang "the compiler of the fuzz targets"
# libFuzzer and the sanitizers' run-time libraries, which clang only recommends.
ls "$(clang -print-resource-dir)"/lib/linux/libclang_rt.fuzzer-*.a >/dev/null 2>&1 ||
    need "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev" "libFuzzer"
