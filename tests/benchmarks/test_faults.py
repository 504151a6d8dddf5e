"""Faults fit the code they are meant for, and the script tells those that are noticed from those that survive."""

from __future__ import annotations

import pytest

from benchmarks.faults import __main__ as faults
from benchmarks.faults.table import FAULTS, Fault


def test_names_tell_faults_apart() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert len(FAULTS) >= 50


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_every_fault_can_be_put_in(fault: Fault) -> None:
    text = (faults.ROOT / fault.path).read_text()
    assert faults.put_in(fault, text) != text
    for test in fault.tests:
        assert (faults.ROOT / test).exists(), test


def test_one_that_is_noticed_and_one_that_survives(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    table, tests = "benchmarks/faults/table.py", ("tests/study/test_lines.py",)
    given = (
        Fault("another-number", "src/widemargin/study/lines.py", '"=inf": math.inf', '"=inf": 1e300', tests),
        Fault("harmless", table, '"""The faults: small', '"""The faults: very small', tests),
        Fault("gone", table, "no such " + "text", "", tests),
    )
    monkeypatch.setattr(faults, "FAULTS", given)
    assert faults.main(["--trust"]) == 1
    printed = capsys.readouterr().out
    assert "harmless: SURVIVED (all pass" in printed
    assert "gone: CANNOT TELL (benchmarks/faults/table.py holds 'no such text' 0 times, not once" in printed
    assert "another-number: noticed (tests/study/test_lines.py::" in printed
    assert "1 of 3 faults noticed (33%); survived: harmless" in printed
    with pytest.raises(SystemExit, match="no fault 'gonne'"):
        faults.main(["--faults", "gonne"])


def test_faults_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert faults.main(["--list"]) == 0
    assert "slack-of-shrinking" in capsys.readouterr().out
