"""Table 8.1, Figures 8.1 and 8.2 and what goes with them: they run on a few samples, and their verdicts can fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.papers.__main__ import main
from benchmarks.papers.lasvm import chapter_8, glasmachers_table_8_1, lasvm_active
from benchmarks.papers.lasvm.chapter_8 import BATCH, EXPERIMENTS, MVP, SECOND_ORDER, Objectives
from benchmarks.papers.lasvm.lasvm_active import LABELS, Errors
from widemargin import SVC
from widemargin.datasets import chess_board
from widemargin.kernels.rows import kernel_matrix


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """All data sets become a chess board of 300 samples."""

    def build(folder: Any, number: int) -> chapter_8.Partition:
        X, y = chess_board(600, random_state=number)
        return chapter_8.Partition(X[:300], y[:300], X[300:], y[300:])

    for experiment in EXPERIMENTS.values():
        monkeypatch.setitem(experiment.__dict__, "build", build)


def test_objectives_are_those_of_their_definitions() -> None:
    X, y = chess_board(300, random_state=0)
    model = SVC(C=10.0, gamma=2.0, tol=1e-6).fit(X[:200], y[:200])
    part = chapter_8.Partition(X[:200], y[:200], X[200:], y[200:])
    found = chapter_8.objectives(model, 10.0, part)
    [report] = model.fit_report_
    assert found.dual == pytest.approx(report.objective, rel=1e-6)
    a = np.zeros(200)
    a[model.support_] = model.dual_coef_
    K = kernel_matrix(X[:200], gamma=2.0, dtype="float64")
    slack = np.maximum(0.0, 1.0 - y[:200] * (K @ a + model.intercept_))
    assert found.primal == pytest.approx(0.5 * a @ K @ a + 10.0 * slack.sum(), rel=1e-9)
    assert found.primal == pytest.approx(found.dual, rel=1e-4)
    assert found.support == len(model.support_)


def test_the_table_runs(small: None, capsys: pytest.CaptureFixture[str]) -> None:
    main(["glasmachers_table_8_1", "--datasets", "chess-board,banana", "--partitions", "2"])
    printed = capsys.readouterr().out
    assert printed.count("pass: ") == 4
    assert "265,545" in printed
    with pytest.raises(SystemExit, match="no data set 'bananas'"):
        main(["glasmachers_table_8_1", "--datasets", "bananas"])


def test_nothing_to_judge_is_no_pass(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["glasmachers_table_8_1", "--datasets", "adult", "--data", str(tmp_path)])
    assert ended.value.code == 1
    assert "adult: skipped. The data folder" in capsys.readouterr().out


@pytest.mark.parametrize(("support", "dual", "words"), [(1, 2, 0), (3, 2, 1), (1, 0.5, 1), (2, 1, 2)])
def test_the_verdicts_follow_the_numbers(support: float, dual: float, words: int) -> None:
    found = {
        MVP: [Objectives(2.0, 0.9, 3.0, 1.0)],
        SECOND_ORDER: [Objectives(support, 0.9, 3.0, dual)],
        BATCH: [Objectives(1.0, 0.9, 3.0, 3.0)],
    }
    lines, held = glasmachers_table_8_1.verdicts({"banana": found})
    assert held == (words == 0)
    assert sum(line.startswith("FAIL") for line in lines) == words


def test_the_printed_counts_bound_the_printed_duals() -> None:
    for experiment in EXPERIMENTS.values():
        for printed in experiment.printed.values():
            assert printed.dual <= experiment.C * printed.support


def test_figures_run(small: None, tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    some = ["--datasets", "banana,chess-board"]
    main(["glasmachers_figures_8", *some, "--epochs", "4", "--epochs-picture", str(tmp_path / "epochs.png")])
    main(["glasmachers_figures_8", *some, "--caches", "1,8", "--cache-picture", str(tmp_path / "cache.png")])
    main(["lasvm_speed", *some, "--batch", "20", "--picture", str(tmp_path / "speed.png")])
    assert all((tmp_path / f"{name}.png").stat().st_size > 5_000 for name in ("epochs", "cache", "speed"))
    lines = capsys.readouterr().out.splitlines()
    [first, last] = [line.split() for line in lines if line.startswith("banana") and "second order" in line][:2]
    numbers = [[float(cell.replace(",", "")) for cell in line[-3:]] for line in (first, last)]
    (_, early, optimum), (primal, late, _) = numbers
    assert early <= late <= optimum * 1.001
    assert primal >= optimum * 0.999


def test_active_learning_is_judged_by_its_numbers(small: None, capsys: pytest.CaptureFixture[str]) -> None:
    found = {("any", n): [Errors(0.20, 0.20)] * 2 for n in LABELS} | {("near", n): [Errors(0.19, 0.2)] for n in LABELS}
    assert lasvm_active.verdicts(found)[1]
    assert not lasvm_active.verdicts({**found, ("near", LABELS[1]): [Errors(0.193, 0.1)]})[1]
    measured = lasvm_active.measure(None, 2)
    assert set(measured) == {(way, n) for n in LABELS for way in ("any", "near")}
    assert "200" in lasvm_active.table(measured)
