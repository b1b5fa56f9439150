# SPDX-License-Identifier: Apache-2.0
"""Planted defects are switches in the C sources and markers in the Python ones, and all are listed in
tests/prove/defects; `make prove` sees that the checks notice them."""

import re
import subprocess
import sys

import pytest

from support import defects, planted

CATALOGUE = defects.listed("package")
PROMISES = (planted.REPOSITORY / "docs/spec/promises.md").read_text()


def test_the_catalogue_lists_exactly_the_switches_of_the_c_sources():
    places = ("core/src", "src/slipring/_native", "core/tests/schedules")
    files = [path for place in places for path in (planted.REPOSITORY / place).rglob("*.[ch]")]
    switches = {name for path in files for name in re.findall(r"\bSLR_DEFECT\((\w+)\)", path.read_text())}
    assert switches - {"name"} == {defect.name for defect in defects.listed("core")}  # name: in defects.h


def test_the_catalogue_lists_exactly_the_markers_of_the_sources():
    assert {defect.name for defect in CATALOGUE} == set(planted.names())


@pytest.mark.parametrize("marker", planted.names().values(), ids=lambda marker: marker.name)
def test_a_source_with_its_defect_is_another_and_compiles(marker):
    text = marker.path.read_text()
    changed = planted.plant(text, marker.name)
    assert changed != text
    compile(changed, str(marker.path), "exec")


@pytest.mark.parametrize("defect", CATALOGUE, ids=lambda defect: defect.name)
def test_a_defect_names_its_promise_and_tests_that_exist(defect):
    assert re.search(rf"^\| {defect.promise} \|", PROMISES, re.MULTILINE)
    assert defect.description.endswith(".")
    [check] = defect.found_by
    assert set(check) == {"tests"}
    for test in check["tests"].split():
        assert (planted.REPOSITORY / "tests" / test).exists()


def test_one_line_is_replaced():
    text = "def f():\n    # defect none_returned: return None\n    return 1  # the answer\n"
    assert planted.plant(text, "none_returned") == text.replace("return 1  # the answer", "return None")


def test_all_lines_of_a_statement_are_replaced():
    text = "# defect empty: VALUES = ()\nVALUES = (\n    1,\n    2,\n)\nREST = 3\n"
    assert planted.plant(text, "empty") == "# defect empty: VALUES = ()\nVALUES = ()\nREST = 3\n"


def test_a_compound_statement_is_replaced_with_its_body():
    text = "# defect unchecked: pass\nif x:\n    a()\nelse:\n    b()\nc()\n"
    assert planted.plant(text, "unchecked") == "# defect unchecked: pass\npass\nc()\n"


@pytest.mark.parametrize(
    ("header", "other"),
    [
        ("if a and b:", "if True:"),
        ("if (\n    a  # first\n    and b\n):  # second", "if True:"),
        ("with lock(\n    a\n):", "with nothing():"),
        ("def f(a,\n      b):", "def f(b, a):"),
    ],
)
def test_a_header_is_replaced_and_its_body_stays(header, other):
    body = "\n    # a remark\n\n    go(a, b)\nrest()\n"
    marker = f"# defect other_header: {other}\n"
    assert planted.plant(marker + header + body, "other_header") == marker + other + body


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        (
            "if a:\n    x()\n# defect chosen: elif c:\nelif b:\n    y()\nelse:\n    z()\n",
            "elif b:",
            "elif c:",
        ),
        (
            "try:\n    x()\n# defect chosen: except KeyError:\nexcept OSError:\n    y()\n",
            "except OSError:",
            "except KeyError:",
        ),
        ("@decorated\n# defect chosen: def f(x):\ndef f():\n    y()\n", "def f():", "def f(x):"),
    ],
)
def test_branches_handlers_and_decorated_functions_have_headers(text, before, after):
    assert planted.plant(text, "chosen") == text.replace(f"\n{before}", f"\n{after}")


def test_a_replacement_may_have_several_lines():
    text = "if a:\n    # defect twice: go()\n    #     go()\n    go()\n"
    assert planted.plant(text, "twice") == text + "    go()\n"


def test_a_statement_may_have_several_markers():
    text = "# defect one: a = 1\n# defect two: a = 2\na = 0\n"
    assert planted.plant(text, "one") == text.replace("a = 0", "a = 1")
    assert planted.plant(text, "two") == text.replace("a = 0", "a = 2")


def test_an_unknown_name_is_an_error(tmp_path):
    with pytest.raises(LookupError, match="nothing_of_the_kind"):
        planted.plant("# defect one: a = 1\na = 0\n", "nothing_of_the_kind")
    with pytest.raises(LookupError, match="nothing_of_the_kind"):
        planted.package(tmp_path / "package", "nothing_of_the_kind")


def test_a_name_used_twice_is_an_error(tmp_path):
    text = "# defect one: a = 1\na = 0\n"
    for name in ("first.py", "second.py"):
        (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=r"two defects are named one: .*first.py:1 and .*second.py:1"):
        planted.names(tmp_path)
    with pytest.raises(ValueError, match="two defects are named one"):
        planted.plant(text + text, "one")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# defect one\na = 0\n", "a marker is"),
        ("# defect One: a = 1\na = 0\n", "a marker is"),
        ("a = 0\n# defect one: a = 1\n", "no statement follows"),
        ("# defect one: a = 1\n\na = 0\n", "begins at line 2"),
        ("if a:\n# defect one: b = 1\n    b = 0\n", "begins at line 3"),
        ("# defect one: if b:\na = 0\n", "has no header"),
    ],
)
def test_a_marker_that_means_nothing_is_an_error(text, message):
    with pytest.raises(ValueError, match=message):
        planted.plant(text, "one")


def test_the_copy_is_what_is_imported(tmp_path):
    environment = planted.package(tmp_path / "package", "call_number_reused")
    script = "import slipring._bus.calls.client.connection as c, slipring._native as n; print(c.__file__, n.__file__)"
    found = subprocess.run(
        [sys.executable, "-P", "-c", script], env=environment, capture_output=True, text=True, check=True
    ).stdout.split()
    assert all(path.startswith(str(tmp_path / "package/slipring")) for path in found)
    assert (
        "self._numbers = itertools.repeat(1)\n        self.closed"
        in (tmp_path / "package/slipring/_bus/calls/client/connection.py").read_text()
    )
