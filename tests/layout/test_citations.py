# SPDX-License-Identifier: Apache-2.0
"""Tests cited by the documents exist, and so do the targets of relative links."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

from prove import record
from support import defects

REPOSITORY = Path(__file__).resolve().parents[2]
INVARIANTS = (REPOSITORY / "docs/spec/invariants.md").read_text()
DESIGNS = (REPOSITORY / "docs/guides/from-the-five-designs.md").read_text()
SECURITY = (REPOSITORY / "docs/security.md").read_text()
CITED = sorted(set(re.findall(r"`([\w/]+\.py)::(test_\w+)`", INVARIANTS + DESIGNS + SECURITY)))
PROGRAMS = sorted(set(re.findall(r"`([\w/]+\.c)`", INVARIANTS + SECURITY)))
PROMISES = (REPOSITORY / "docs/spec/promises.md").read_text()
PROMISE = re.compile(r"^\| (\d+) \| .* \| (.*?) \| (.*?) \| (.*?) \|$", re.MULTILINE)
INVARIANT = re.compile(r"^\| ([IC]?\d+) \| .* \| (\d+) \| (.*?) \|$", re.MULTILINE)
FOR_PROVE = ("prove/", "foreign/", "states/", "a_recoverer_killed", "two_deaths", "two_ends_killed")
PARTS = {part.name for part in record.parts()}
PAGES = [
    *REPOSITORY.glob("*.md"),
    *(REPOSITORY / "docs").rglob("*.md"),
    *(REPOSITORY / "examples").rglob("*.md"),
]


def names_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))} | {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


@pytest.mark.parametrize(("file", "test"), CITED)
def test_a_cited_test_exists(file, test):
    assert test in names_in(REPOSITORY / "tests" / file)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_cited_program_exists(program):
    assert (REPOSITORY / "core/tests" / program).exists()


def test_every_invariant_cites_a_test():
    sections = re.split(r"^### ", INVARIANTS, flags=re.MULTILINE)[1:]
    assert len(sections) >= 10 + 11
    for section in sections:
        assert re.search(r"::test_|\.c`", section), section.splitlines()[0]


def test_every_claim_of_the_security_page_cites_a_test_or_is_marked_as_not_defended():
    rows = [
        row
        for row in re.findall(r"^\|.*\|$", SECURITY, re.MULTILINE)
        if not re.match(r"\|(-|.*shown by)", row)
    ]
    assert len(rows) > 20
    for row in rows:
        shown = row.rstrip("|").rpartition("|")[2].strip()
        assert "::test_" in shown or "not defended" in shown or "no rights by topic" in shown, row


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", found.read_text(), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}, target


def sections() -> dict[str, str]:
    """Return the sections of the invariants by number."""
    found = re.split(r"^###? ", INVARIANTS, flags=re.MULTILINE)
    return {section.partition(".")[0]: section for section in found if re.match(r"[IC]?\d+\.", section)}


def test_the_table_of_tiers_has_every_invariant_and_its_count_of_tests():
    rows = {number: (int(count), parts) for number, count, parts in INVARIANT.findall(INVARIANTS)}
    assert set(rows) == set(sections())
    for number, section in sections().items():
        cited = {*re.findall(r"`([\w/]+\.py(?:::\w+)?)`", section), *re.findall(r"`([\w/]+\.c)`", section)}
        ordinary = [one for one in cited if not any(mark in one for mark in FOR_PROVE)]
        assert rows[number][0] == len(ordinary) > 0, number
        assert set(filter(None, rows[number][1].split(", "))) <= PARTS, number


def test_every_promise_is_tested_in_make_test_and_its_parts_and_mutants_are_as_listed():
    planted = [*defects.listed("core"), *defects.listed("package")]
    rows = PROMISE.findall(PROMISES)
    assert [int(row[0]) for row in rows] == list(range(1, 33))
    for number, tests, parts, mutants in rows:
        places = re.findall(r"`([\w/.]+)`", tests)
        assert places and not any(place.startswith(FOR_PROVE) for place in places), number
        for place in places:
            assert (REPOSITORY / ("" if place.startswith("core/tests") else "tests") / place).exists(), place
        assert set(filter(None, parts.split(", "))) <= PARTS, number
        assert int(mutants or 0) == sum(defect.promise == int(number) for defect in planted), number


INTERNALS = (REPOSITORY / "docs/internals.md").read_text()
WAYS = re.findall(r"^```way (\S+)\n(.*?)^```$", INTERNALS, re.MULTILINE | re.DOTALL)
STEPS = sorted(
    {(base, *step) for base, way in WAYS for step in re.findall(r"([\w/.]+\.(?:c|h|py)):([\w.]+)", way)}
)


@pytest.mark.parametrize(("base", "file", "name"), STEPS)
def test_a_step_of_a_way_through_the_code_exists(base, file, name):
    name = name.rstrip(".")
    if file.endswith(".py"):
        names = names_in(REPOSITORY / base / file)
        assert set(name.split(".")) <= names
    else:
        assert re.search(rf"\b{name}\(", (REPOSITORY / base / file).read_text())


def rooms(base: str) -> list[str]:
    """The folders of sources below a folder, as paths from it."""
    listed = subprocess.run(
        ["git", "ls-files", base], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    folders = {Path(path).parent for path in listed.stdout.splitlines() if Path(path).suffix in (".c", ".py")}
    return sorted(str(folder.relative_to(base)) for folder in folders if folder != Path(base))


@pytest.mark.parametrize("base", ["core/src", "src/slipring", "core/tests", "tests"])
def test_the_map_names_every_room(base):
    """Of the tests, the outermost folder stands for those inside."""
    spans = set(re.findall(r"`([^`\n]+)`", INTERNALS))
    named = {part for span in spans for part in [span, *span.split("/")]}
    shown = 0 if base.endswith("tests") else -1
    assert [room for room in rooms(base) if Path(room).parts[shown] not in named] == []
