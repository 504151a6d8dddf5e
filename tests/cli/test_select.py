"""The main job from a shell: a table in, a model out."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from widemargin.cli import main
from widemargin.estimators.model_file import open_model

COMMAND = str(Path(sysconfig.get_path("scripts")) / "widemargin")


def write(path: Path, X: np.ndarray, y: list[object], names: list[str] | None = None) -> Path:
    names = names or [f"f{column}" for column in range(X.shape[1])]
    lines = [",".join([*names, "label"])]
    lines += [",".join([*(repr(float(value)) for value in row), str(label)]) for row, label in zip(X, y, strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def board(n: int = 200) -> tuple[np.ndarray, list[object]]:
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, size=(n, 2)) * [1.0, 1000.0]
    return X, ["even" if int(a) + int(b / 1000) & 1 == 0 else "odd" for a, b in X]


def test_select_and_predict(tmp_path: Path) -> None:
    X, y = board()
    table, model = write(tmp_path / "train.csv", X, y), tmp_path / "model.wm"
    command = [COMMAND, "select", str(table), "--target", "label", "--model", str(model)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    heads = [line.split()[0] for line in done.stdout.splitlines()]
    assert heads == ["data", "machine", "score", "ties", "work", "kernel", "model"]
    assert "\033" not in done.stdout + done.stderr
    assert "200 rows, 2 features, 2 classes" in done.stdout
    saved = open_model(model)
    assert saved.selection is not None
    assert saved.selection["score"] > 0.8
    predictions = subprocess.run(
        [COMMAND, "predict", str(model), str(table)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()[1:]
    assert np.mean(np.array(predictions) == np.array(y)) > 0.9


def test_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    table = write(tmp_path / "train.csv", X, list(10 * np.sin(X[:, 0])))
    assert main(["select", str(table), "--quiet", "--splits", "3"]) == 0
    printed = capsys.readouterr().out
    assert "SVR" in printed
    assert "epsilon" in printed
    score = float(printed.split("R^2 ")[1].split(",")[0])
    assert score > 0.9


def test_a_journal_is_continued_and_refused_for_other_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = board(120)
    table, journal = write(tmp_path / "train.csv", X, y), tmp_path / "study.jsonl"
    arguments = ["select", str(table), "--quiet", "--journal", str(journal)]
    assert main(arguments) == 0
    first = capsys.readouterr().out.splitlines()
    size = journal.stat().st_size
    assert main(arguments) == 0
    second = capsys.readouterr().out.splitlines()
    assert first[:4] == second[:4]
    assert journal.stat().st_size == size
    write(table, X + 1.0, y)
    assert main(arguments) == 1
    assert len(capsys.readouterr().err.strip().splitlines()) == 2  # the note on the target, and the error


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--max-time", "1e-9"], "--max-time 1e-09 ended before any candidate was finished; allow more"),
        (["--target", "missing"], "missing"),
    ],
)
def test_errors_are_one_line(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = board(60)
    table = write(tmp_path / "train.csv", X, y)
    assert main(["select", str(table), "--quiet", *arguments]) == 1
    assert said in capsys.readouterr().err.strip().splitlines()[-1]
