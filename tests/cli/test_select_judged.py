"""``widemargin select`` says which task it has guessed, and whether the model is better than none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from widemargin.cli import main
from widemargin.persistence import open_model

Run = Callable[..., tuple[str, list[str]]]

GUESS = "The target, column 'price', holds {} different whole numbers, taken as {}; add --task {} to change that."
NO_BETTER = "Warning: the model is not better than {} alone by two standard errors; the features may say nothing about "


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Choose a model for given prices of 150 samples; return the line of the score, and what is remarked."""
    monkeypatch.chdir(tmp_path)

    def runner(prices: list[object], *arguments: str) -> tuple[str, list[str]]:
        X = features()
        rows = [f"{a!r},{b!r},{price}" for (a, b), price in zip(X.tolist(), prices, strict=True)]
        Path("table.csv").write_text("\n".join(["a,b,price", *rows]))
        assert main(["select", "table.csv", "--target", "price", "--quiet", "--model", "model.wm", *arguments]) == 0
        printed, said = capsys.readouterr()
        (score,) = [line for line in printed.splitlines() if line.startswith("score")]
        return score, said.splitlines()

    return runner


def features() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(150, 2))


def test_prices_are_not_taken_for_classes_without_a_word(run: Run) -> None:
    prices = np.random.default_rng(1).integers(0, 15, 150) * 10
    score, said = run(prices.tolist())
    assert said[0] == GUESS.format(15, "classes", "regression")
    assert said[1].startswith(NO_BETTER.format("the most frequent class"))
    assert said[1].endswith("the target, or the task is another one (--task).")
    alone = np.unique(prices, return_counts=True)[1].max() / 150
    assert float(score.rpartition("; the most frequent class alone has ")[2]) == pytest.approx(alone, abs=0.03)
    selection = open_model("model.wm").selection
    assert f"{selection['baseline']:.4f}" == score.split()[-1]
    score, said = run(prices.tolist(), "--task", "regression")
    assert [line[:60] for line in said] == [NO_BETTER.format("the mean")[:60]]
    assert said[0].endswith("the features may say nothing about the target.")  # somebody has said what the task is


def test_guesses_of_good_models(run: Run) -> None:
    X = features()
    numbers = np.round(100 + 10 * X[:, 0]).astype(int)
    different = len(np.unique(numbers))
    score, said = run(numbers.tolist())
    assert said == [GUESS.format(different, "a number to predict", "classification")]
    assert float(score.rpartition("; the mean alone has ")[2]) < 0.05
    thirds = np.digitize(X[:, 0], [-0.5, 0.5]).tolist()
    assert run(thirds)[1] == [GUESS.format(3, "classes", "regression")]


def test_nothing_is_said_where_nothing_is_guessed(run: Run) -> None:
    X = features()
    for prices in (np.where(X[:, 0] > 0, "much", "little"), X[:, 0] + X[:, 1]):
        assert run(prices.tolist())[1] == []
    assert run((X[:, 0] > 0).astype(int).tolist())[1] == []
    assert run(np.digitize(X[:, 0], [-0.5, 0.5]).tolist(), "--task", "classification")[1] == []


def test_small_models_are_judged_too(run: Run) -> None:
    X = features()
    score, said = run((X[:, 0] > 0).astype(int).tolist(), "--compact")
    assert score.endswith("; a single class alone has 0.5000")
    assert said == []
    score, said = run(np.random.default_rng(1).choice(["x", "y", "z"], 150).tolist(), "--compact")
    assert score.endswith("; a single class alone has 0.3333")
    assert [line[:60] for line in said] == [NO_BETTER.format("a single class")[:60]]
