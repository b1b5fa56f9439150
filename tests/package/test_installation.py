# SPDX-License-Identifier: Apache-2.0
"""The installed package: what importing it costs, what it ships, the error when an extra is missing."""

import ast
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

import slipring

IMPORTED = """
import sys
before = set(sys.modules)
import slipring
print(sorted({name.split(".")[0] for name in set(sys.modules) - before}))
"""


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_the_package_imports_only_the_standard_library():
    names = set(ast.literal_eval(run(IMPORTED))) - {"slipring"}
    assert names - set(sys.stdlib_module_names) == set()


@pytest.mark.parametrize("module", ["asyncio", "multiprocessing", "pyarrow", "numpy", "ctypes"])
def test_importing_the_package_does_not_import_what_few_need(module):
    assert run(f"import sys, slipring; print({module!r} in sys.modules)") == "False\n"


def test_the_base_package_requires_nothing():
    requirements = importlib.metadata.requires("slipring") or []
    assert [line for line in requirements if "extra ==" not in line] == []


def test_the_version_is_the_one_of_the_distribution():
    assert slipring.__version__ == importlib.metadata.version("slipring")


def shipped() -> Path:
    return Path(slipring.__file__).parent


def test_the_package_declares_that_it_is_typed():
    assert (shipped() / "py.typed").exists()


def test_the_compiled_part_has_stubs():
    stubs = [path for path in shipped().rglob("*.pyi") if "_native" in str(path)]
    assert stubs
    for stub in stubs:
        ast.parse(stub.read_text())


def test_the_stubs_name_what_the_compiled_part_has():
    import slipring._native as native

    (stub,) = [path for path in shipped().rglob("*.pyi") if "_native" in str(path)]
    tree = ast.parse(stub.read_text())
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    described = {node.name for node in tree.body if isinstance(node, kinds)}
    described |= {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}
    public = {name for name in vars(native) if not name.startswith("_")}
    assert public - described == set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            methods = {item.name for item in node.body if isinstance(item, kinds)}
            methods -= {"__buffer__"}  # has a name only since Python 3.12
            present = set(dir(getattr(native, node.name)))
            assert methods - present == set(), f"{node.name} of the stubs has more than the compiled one"


def test_an_error_names_the_missing_extra(bus_root):
    said = run(f"""
import sys
sys.modules["pyarrow"] = None
import slipring
bus = slipring.Bus("b", root={str(bus_root)!r})
bus.publisher("t", capacity=4096).send(b"x")
sub = bus.subscriber("t", start="oldest")
try:
    sub.recv_batch()
except ImportError as error:
    print(error)
print(sub.recv(timeout=0).body)
""")
    assert "pyarrow" in said
    assert "slipring[" in said
    assert "b'x'" in said
