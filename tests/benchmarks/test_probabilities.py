"""The table of what probabilities cost."""

from pathlib import Path

import pytest

from benchmarks import probabilities
from benchmarks.probabilities import main, report


def test_a_table_of_a_generated_problem(capsys):
    report(None, 1, [("twonorm", 200)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "twonorm: 200 samples, C=1, gamma=0.01"
    assert [line.split("  ")[0] for line in lines[2:8]] == [
        "widemargin",
        "widemargin, slope",
        "widemargin, platt",
        "sklearn",
        "sklearn, probability=True",
        "sklearn, CalibratedClassifierCV",
    ]
    assert lines[3].endswith("0.00%")
    assert lines[4].endswith("0.00%")


def test_data_that_are_not_there_are_named(capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(probabilities, "USUAL", (("banana", None),))
    report(tmp_path, 1, probabilities.USUAL)
    assert capsys.readouterr().out.startswith("banana: skipped (")


def test_the_command_line_refuses_nonsense(capsys):
    with pytest.raises(SystemExit):
        main(["--repeats", "many"])
    assert "invalid int value" in capsys.readouterr().err
