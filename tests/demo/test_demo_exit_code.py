# SPDX-License-Identifier: Apache-2.0
"""The program's verdict, on evidence that is given to it."""

import sys

import honest_evidence as honest
import pytest
from demo.evidence import Evidence

from demo import __main__ as program
from storm.journal import TORN, Kind


def body_corrupt(evidence: Evidence) -> None:
    honest.insert(evidence, 4, honest.record(Kind.CORRUPT, "imu", 90, 3, 0, TORN))


class FinishedRun:
    """Stands for a run that is over: its evidence is given."""

    evidence: Evidence

    pipeline = None

    def __init__(self, seconds: float, seed: int, recorded_in, stalled_s: float) -> None: ...
    def __enter__(self):
        return self

    def __exit__(self, *exc: object) -> None: ...
    def play(self) -> None: ...
    def collect(self) -> Evidence:
        return self.evidence


@pytest.mark.parametrize("tamper", [None, body_corrupt])
def test_the_program_exits_zero_only_if_every_claim_passes(monkeypatch, capsys, tmp_path, tamper):
    evidence = honest.make()
    if tamper:
        tamper(evidence)
    monkeypatch.setattr(FinishedRun, "evidence", evidence, raising=False)
    monkeypatch.setattr(program, "Run", FinishedRun)
    monkeypatch.setattr(program.interruption, "catch_signals", lambda: None)
    monkeypatch.setattr(sys, "argv", ["demo", "--without-spark", "--out", str(tmp_path)])
    assert program.main() == (1 if tamper else 0)
    printed, page = capsys.readouterr().out, (tmp_path / "report.html").read_text()
    assert ("FAIL" in printed, "✕ FAIL" in page) == ((True, True) if tamper else (False, False))
    assert str(tmp_path / "report.html") in printed
