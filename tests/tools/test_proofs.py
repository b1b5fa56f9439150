# SPDX-License-Identifier: Apache-2.0
"""`make prove` records what it proved; `make lint` refuses sources that differ from it (tests/prove)."""

import pytest

import prove.__main__ as command
from prove import record, sources

LINE = "    slr_store(&ring->tail, seq + 1); /* partner: read.c */\n"
PARTS = """
[groups]
core = ["core/src/**/*.[ch]"]
[[part]]
name = "states"
claim = "No state harms the others."
tests = ["test_two.py"]
sources = ["core"]
[[part]]
name = "models"
claim = "The protocol is right."
tests = ["test_two.py"]
sources = ["core/models/*.pml"]
"""
TWO_TESTS = """
def test_counts(record_property):
    record_property("crash states", 40)
def test_counts_more(record_property):
    record_property("crash states", 2)
"""


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A repository of three files with two parts to prove."""
    (tmp_path / "core/src/ring").mkdir(parents=True)
    (tmp_path / "core/src/ring/claim.c").write_text(LINE)
    (tmp_path / "core/models").mkdir()
    (tmp_path / "core/models/claim.pml").write_text("active proctype writer() { skip }\n")
    (tmp_path / "parts.toml").write_text(PARTS)
    (tmp_path / "test_two.py").write_text(TWO_TESTS)
    for module in (sources, record, command):
        monkeypatch.setattr(module, "REPOSITORY", tmp_path)
    monkeypatch.setattr(record, "FILE", tmp_path / "proof.json")
    monkeypatch.setattr(record, "PARTS", tmp_path / "parts.toml")
    monkeypatch.setattr(record, "PASSED", tmp_path / "passed")
    return tmp_path


def proven() -> None:
    for part in record.parts():
        record.store(record.Proof(part.name, part.hash, 2, 1, "2026-01-01", "gcc", "x86_64", {}))


def edit(tree, before, after, file="core/src/ring/claim.c"):
    text = (tree / file).read_text()
    assert before in text
    (tree / file).write_text(text.replace(before, after))


def test_a_change_of_one_line_of_the_core_is_refused_until_it_is_proven(tree, capsys):
    proven()
    assert command.main(["--check"]) == 0
    edit(tree, "seq + 1", "seq")
    assert command.main(["--check"]) == 1
    assert "since they were proven: states\n" in capsys.readouterr().err
    assert command.main(["--jobs", "0", "states"]) == 0
    assert command.main(["--check"]) == 0


def test_a_comment_or_a_line_break_needs_no_new_proof(tree):
    proven()
    edit(tree, "/* partner: read.c */", "/* partner: slr_read */\n\n// more\n")
    assert command.main(["--check"]) == 0


@pytest.mark.parametrize("text", ['"/* text */"', '"// text"', "'/'", r'"\"/* text */"'])
def test_what_looks_like_a_comment_in_a_text_counts(text):
    assert text in sources.stripped(f"a({text}); /* gone */")
    assert "gone" not in sources.stripped(f"a({text}); /* gone */")


PYTHON = '''"""Module."""

import os  # noqa

TEXT = """
# kept

"""


def f(x):
    """Füll in.

    More.
    """
    return f"{x}#ü"  # why
'''


def test_comments_docstrings_and_empty_lines_of_python_do_not_count():
    assert sources.stripped_python(PYTHON) == (
        'import os\nTEXT = """\n# kept\n"""\ndef f(x):\n    return f"{x}#ü"'
    )


@pytest.mark.parametrize(
    ("before", "after"), [("# kept", "# other"), ("#ü", "#u"), ("import os", "import re")]
)
def test_code_and_texts_of_python_count(before, after):
    assert sources.stripped_python(PYTHON) != sources.stripped_python(PYTHON.replace(before, after))


def test_a_removed_or_moved_file_needs_a_new_proof(tree):
    proven()
    (tree / "core/src/ring/claim.c").rename(tree / "core/src/ring/reserve.c")
    assert [part.name for part in record.unproven()] == ["states"]


@pytest.mark.parametrize(
    "line", ['tests = ["test_two.py::test_counts"]', 'environment = {SECONDS = "3"}\ntests = ["test_two.py"]']
)
def test_other_tests_or_shorter_ones_need_a_new_proof(tree, line):
    proven()
    edit(tree, 'tests = ["test_two.py"]\nsources = ["core"]', f'{line}\nsources = ["core"]', "parts.toml")
    assert [part.name for part in record.unproven()] == ["states"]


def test_a_pattern_that_matches_nothing_is_an_error(tree):
    (tree / "core/models/claim.pml").unlink()
    with pytest.raises(LookupError, match=r"core/models/\*\.pml matches no file"):
        command.main(["--check"])


def test_a_failed_part_continues_with_the_tests_that_have_not_passed(tree, monkeypatch):
    (tree / "test_two.py").write_text(
        "import os, pathlib\n"
        "def test_good(record_property):\n"
        "    record_property('crash states', 40)\n"
        "    pathlib.Path('runs').open('a').write('x')\n"
        "def test_good_too(record_property):\n"
        "    record_property('crash states', 2)\n"
        "    assert 'LATE' in os.environ\n"
    )
    assert command.main(["--jobs", "0", "states"]) == 1
    assert record.proofs() == {}
    monkeypatch.setenv("LATE", "1")
    assert command.main(["--jobs", "0", "states"]) == 0
    assert record.proofs()["states"].counts == {"crash states": 42}
    assert (tree / "runs").read_text() == "x"


def test_a_skipped_test_proves_nothing(tree, capsys):
    (tree / "test_two.py").write_text(
        "import pytest\ndef test_no():\n    pytest.skip('no tool')\ndef test_yes():\n    pass\n"
    )
    assert command.main(["--jobs", "0", "states"]) == 1
    assert "skipped, so not proven: test_no" in capsys.readouterr().err
    assert record.proofs() == {}


def test_an_interrupted_run_continues_with_the_parts_that_are_not_proven(tree, monkeypatch):
    proven()
    edit(tree, "seq + 1", "seq")
    begun = []
    monkeypatch.setattr(command, "prove", lambda part, jobs: begun.append(part.name))
    command.main([])
    assert begun == ["states"]


def test_a_proof_records_sources_time_compiler_and_counts(tree):
    assert command.main(["--jobs", "0", "states"]) == 0
    proof = record.proofs()["states"]
    assert proof.hash == record.parts()[0].hash
    assert (proof.passed, proof.counts) == (2, {"crash states": 42})
    assert "gcc" in proof.compiler and proof.date.count("-") == 2


def test_sources_that_change_during_the_run_are_not_recorded(tree):
    change = f"open({str(tree / 'core/src/ring/claim.c')!r}, 'a').write('int x;')"
    (tree / "test_two.py").write_text(f"def test_one():\n    {change}\n")
    assert command.main(["--jobs", "0", "states"]) == 1
    assert record.proofs() == {}


def test_an_unknown_part_is_named_with_those_there_are(tree, capsys):
    with pytest.raises(SystemExit):
        command.main(["stats"])
    assert "there is no part 'stats'; allowed: states, models" in capsys.readouterr().err


def test_every_pattern_of_the_real_parts_matches_and_every_core_file_belongs_to_a_part():
    covered = {path for part in record.parts() for path in sources.files(part.sources)}
    core = {path for path in (sources.REPOSITORY / "core").rglob("*.[ch]") if "examples" not in path.parts}
    assert core <= covered
