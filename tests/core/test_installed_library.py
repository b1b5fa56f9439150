# SPDX-License-Identifier: Apache-2.0
"""The C library, installed into a temporary prefix: its files and symbols, and a program built against it."""

import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from slipring import _native
from support.waiting import WATCHDOG_S

pytestmark = [pytest.mark.timeout(300), pytest.mark.xdist_group("installed_library")]

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLE = REPOSITORY / "core/examples/hello.c"
MESON = Path(sys.executable).with_name("meson")
[VERSION] = re.findall(r"^ +version: '(.+)',$", (REPOSITORY / "meson.build").read_text(), re.MULTILINE)
MINOR = VERSION.rpartition(".")[0]


def output_of(*command: str | Path, **environment: str) -> str:
    path = os.pathsep.join([str(MESON.parent), os.environ["PATH"]])
    done = subprocess.run(
        command,
        env={**os.environ, "PATH": path, **environment},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout


def compiler() -> dict[str, str]:
    return {"CC": "ccache gcc"} if shutil.which("ccache") else {}


@pytest.fixture(scope="module")
def prefix(tmp_path_factory) -> Path:
    build, prefix = tmp_path_factory.mktemp("build"), tmp_path_factory.mktemp("installed")
    options = [
        "-Dcore_only=true",
        "-Dwerror=true",
        "--buildtype=release",
        "--libdir=lib",
        f"--prefix={prefix}",
    ]
    output_of(MESON, "setup", build, *options, **compiler())
    output_of(MESON, "install", "-C", build)
    shutil.rmtree(build)
    return prefix


@pytest.fixture(scope="module")
def pkg_config(prefix) -> Callable[..., list[str]]:
    return lambda *options: output_of(
        "pkg-config", *options, "slipring", PKG_CONFIG_LIBDIR=str(prefix / "lib/pkgconfig")
    ).split()


def declared_functions() -> set[str]:
    header = re.sub(r"/\*.*?\*/", "", (REPOSITORY / "core/include/slipring.h").read_text(), flags=re.DOTALL)
    return set(re.findall(r"\b(slipring_\w+)\(", header))


def test_prefix_has_the_library_and_nothing_else(prefix):
    files = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()}
    assert files == {
        "include/slipring.h",
        "lib/libslipring.a",
        "lib/libslipring.so",
        f"lib/libslipring.so.{MINOR}",
        f"lib/libslipring.so.{VERSION}",
        "lib/pkgconfig/slipring.pc",
    }
    assert (prefix / "lib/libslipring.so").resolve().name == f"libslipring.so.{VERSION}"


def test_name_of_the_shared_library_has_the_minor_version(prefix):
    assert f"[libslipring.so.{MINOR}]" in output_of(
        "readelf", "-d", prefix / "lib/libslipring.so", LC_ALL="C"
    )


def test_symbol_map_lists_the_functions_of_the_header():
    symbols = (REPOSITORY / "core/slipring.map").read_text()
    assert re.findall(r"^(\w+\.\d+) \{$", symbols, re.MULTILINE) == [f"SLIPRING_{MINOR}"]
    listed = re.findall(r"^    (slipring_\w+);$", symbols, re.MULTILINE)
    assert listed == sorted(listed)
    assert set(listed) == declared_functions()


def test_shared_library_exports_the_functions_of_the_header_alone(prefix):
    lines = output_of("nm", "-D", "--defined-only", prefix / "lib/libslipring.so").splitlines()
    exported = {line.split()[-1] for line in lines} - {f"SLIPRING_{MINOR}"}
    assert {name.partition("@")[0] for name in exported} == declared_functions()
    assert {name.rpartition("@")[2] for name in exported} == {f"SLIPRING_{MINOR}"}


def test_static_library_defines_the_functions_of_the_header(prefix):
    lines = output_of("nm", "--defined-only", prefix / "lib/libslipring.a").splitlines()
    defined = {line.split()[-1] for line in lines if " T " in line}
    assert {name for name in defined if name.startswith("slipring_")} == declared_functions()
    assert {name for name in defined if not name.startswith(("slipring_", "slr_"))} == set()


def test_pkg_config_names_version_and_flags(prefix, pkg_config):
    assert pkg_config("--modversion") == [VERSION]
    assert pkg_config("--cflags") == [f"-I{prefix}/include"]
    assert pkg_config("--libs") == [f"-L{prefix}/lib", "-lslipring"]
    assert pkg_config("--static", "--libs") == [f"-L{prefix}/lib", "-lslipring", "-pthread"]


@pytest.fixture(scope="module", params=["shared", "static"])
def hello(request, prefix, pkg_config, tmp_path_factory) -> Callable[..., subprocess.Popen]:
    """Start the example, linked in the way of the parameter."""
    program = tmp_path_factory.mktemp("example") / "hello"
    shared = request.param == "shared"
    flags = (
        pkg_config("--cflags", "--libs")
        if shared
        else ["-static", *pkg_config("--static", "--cflags", "--libs")]
    )
    output_of("cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", EXAMPLE, *flags, "-o", program)
    needed = re.findall(r"\(NEEDED\).*\[(libslipring.*)\]", output_of("readelf", "-d", program, LC_ALL="C"))
    assert needed == ([f"libslipring.so.{MINOR}"] if shared else [])
    environment = {**os.environ, "LD_LIBRARY_PATH": str(prefix / "lib")} if shared else os.environ
    return lambda *arguments: subprocess.Popen(
        [program, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_example_built_against_the_installed_library_sends_and_receives(hello, bus):
    bus.create("greetings", delivery="reliable")
    with hello("subscribe", str(bus.path), "greetings", "2") as subscriber:
        try:
            assert subscriber.stdout.readline() == "ready\n"
            with hello("publish", str(bus.path), "greetings", "hello", "world") as publisher:
                assert publisher.communicate(timeout=WATCHDOG_S) == ("sent 0\nsent 1\n", "")
            received, errors = subscriber.communicate(timeout=WATCHDOG_S)
        finally:
            subscriber.kill()
    assert (received, errors) == ("0 from hello.c, text: hello\n1 from hello.c, text: world\n", "")


def test_installed_library_and_python_package_have_the_same_layout(prefix, bus):
    library = ctypes.CDLL(str(prefix / "lib/libslipring.so"))
    library.slipring_layout_hash_of.restype = ctypes.c_uint64
    for kind in ("topic", "cells", "frames"):
        assert library.slipring_layout_hash_of(kind.encode()) == _native.layout(kind)[0], kind


def test_python_package_installs_no_file_of_the_library(tmp_path):
    output_of(MESON, "setup", tmp_path / "build", **compiler())
    installed = json.loads(output_of(MESON, "introspect", "--installed", tmp_path / "build"))
    names = {Path(path).name for path in installed}
    assert names & {"slipring.h", "slipring.pc", "libslipring.a", "libslipring.so", "slipring.map"} == set()
    assert "_native.abi3.so" in names
