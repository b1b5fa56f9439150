# SPDX-License-Identifier: Apache-2.0
"""What the documents point to is there: the tests they cite, and every relative link."""

import ast
import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
INVARIANTS = (REPOSITORY / "docs/spec/invariants.md").read_text()
DESIGNS = (REPOSITORY / "docs/guides/from-the-five-designs.md").read_text()
SECURITY = (REPOSITORY / "docs/security.md").read_text()
CITED = sorted(set(re.findall(r"`([\w/]+\.py)::(test_\w+)`", INVARIANTS + DESIGNS + SECURITY)))
PROGRAMS = sorted(set(re.findall(r"`([\w/]+\.c)`", INVARIANTS + SECURITY)))
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


def test_every_claim_of_the_security_page_cites_a_test_or_says_that_it_is_not_defended():
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
