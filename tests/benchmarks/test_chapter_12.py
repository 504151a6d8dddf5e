"""The comparison of chapter 12, in miniature."""

import numpy as np
import pytest

from benchmarks.papers.__main__ import main
from benchmarks.papers.glasmachers import chapter_12
from benchmarks.papers.glasmachers.chapter_12 import Printed, margin, symbol, table, verdict
from benchmarks.papers.glasmachers.glasmachers_table_12_1 import EXPERIMENTS


def test_table_12_1_in_miniature(capsys, tmp_path):
    arguments = [
        "glasmachers_table_12_1",
        "--problems",
        "chess",
        "--trials",
        "2",
        "--evaluations",
        "6",
        "--n-jobs",
        "1",
    ]
    journal = ["--journal", str(tmp_path / "trials.jsonl")]
    main([*arguments, *journal])
    printed = capsys.readouterr().out
    for method in chapter_12.METHODS:
        assert method in printed
    assert "likelihood on chess" in printed
    assert "of 5 errors within two standard errors" in printed
    main([*arguments, *journal])
    assert capsys.readouterr().out == printed
    with pytest.raises(SystemExit, match="no problem 'ches'"):
        main(["glasmachers_table_12_1", "--problems", "ches"])


def test_tables_12_3_to_12_6_in_miniature(capsys, tmp_path):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(260, 3))
    np.savez(tmp_path / "raetsch_banana.npz", X=X, y=np.where(X[:, 0] * X[:, 1] > 0, 1, -1))
    options = ["--trials", "1", "--evaluations", "4", "--n-jobs", "1", "--methods", "KTA,posterior"]
    main(["glasmachers_tables_12_3_to_12_6", "--problems", "banana", "--data", str(tmp_path), *options])
    printed = capsys.readouterr().out
    assert "banana, radial" in printed
    assert "banana, diagonal" in printed
    assert "of 4 errors within two standard errors" in printed


def test_verdicts_can_fail():
    chess = EXPERIMENTS["chess"]
    errors = {("chess", method): [one.mean, one.mean + 0.001] for method, one in chess.printed.items()}
    assert verdict([chess], list(chess.printed), errors).startswith("pass: 5 of 5")
    errors["chess", "KTA"] = [0.3, 0.31]
    assert verdict([chess], list(chess.printed), errors).startswith("FAIL: 4 of 5")
    assert "FAIL" in table(chess, list(chess.printed), errors)


def test_symbols_are_those_of_the_thesis():
    low, high = np.arange(20) / 100, 1 + np.arange(20) / 100
    assert symbol(low, high) == "<<<"
    assert symbol(high, low) == ">>>"
    assert symbol(low[:3], high[:3]) == "0.05"
    assert symbol(low, low) == "0.50" or 0.4 < float(symbol(low, low)) < 0.6


def test_margins_shrink_with_trials():
    assert margin(Printed(0.1, 0.02), [0.1, 0.2]) > margin(Printed(0.1, 0.02), [0.1, 0.2] * 10) > 0.004
