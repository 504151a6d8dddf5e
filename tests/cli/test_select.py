"""The main job from a shell: a table in, a model out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sysconfig
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from widemargin import datasets
from widemargin.cli import main
from widemargin.model_selection import growth, selection
from widemargin.persistence.model_file import open_model

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
    assert heads == ["data", "model", "score", "ties", "work", "kernel", "saved"]
    assert "\033" not in done.stdout + done.stderr
    assert "200 samples, 2 features, 2 classes" in done.stdout
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
    assert main(["select", str(table), "--quiet", "--cv", "3"]) == 0
    printed = capsys.readouterr().out
    assert "SVR" in printed
    assert "epsilon" in printed
    score = float(printed.split("R^2 ")[1].split(",")[0])
    assert score > 0.9


def test_a_journal_is_continued_and_other_data_get_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
    before = journal.read_bytes()
    for _ in range(2):
        assert main(arguments) == 0
        assert journal.read_bytes() == before
        assert len(list(tmp_path.glob("study.????????????.jsonl"))) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--max-time", "1e-9"], "--max-time 1e-09 is too short: no candidate was finished; allow more"),
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


def write_tabs(path: Path, X: np.ndarray, y: list[object]) -> Path:
    write(path, X, y)
    path.write_text(path.read_text(encoding="utf-8").replace(",", "\t"), encoding="utf-8")
    return path


def write_sparse(path: Path, X: np.ndarray, y: list[object]) -> Path:
    lines = [
        " ".join([{"even": "+1", "odd": "-1"}[str(label)], *(f"{n}:{value!r}" for n, value in enumerate(row, 1))])
        for row, label in zip(X.tolist(), y, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["train.tsv", "train.tab", "train.libsvm", "train.svm", "train"])
def test_other_formats(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = board(120)
    commas, model = write(tmp_path / "train.csv", X, y), tmp_path / "model.wm"
    is_sparse = not name.endswith(("tsv", "tab"))
    table = (write_sparse if is_sparse else write_tabs)(tmp_path / name, X, y)
    found = []
    for path in (commas, table):
        assert main(["select", str(path), "--quiet", "--cv", "3", "--model", str(model)]) == 0
        found.append(capsys.readouterr().out.splitlines())
    assert found[0][0] == found[1][0] == "data      120 samples, 2 features, 2 classes"
    scores = [float(line.split()[2].rstrip(",")) for _, _, line, *_ in found]
    assert scores[0] == pytest.approx(scores[1], abs=0.03 if is_sparse else 1e-12)  # sparse columns are not centred
    assert main(["predict", str(model), str(table)]) == 0
    predictions = capsys.readouterr().out.split()[1:]
    names = {"1": "even", "-1": "odd"} if is_sparse else {"even": "even", "odd": "odd"}
    assert np.mean([names[label] == truth for label, truth in zip(predictions, y, strict=True)]) > 0.9


def test_time_that_suffices_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, model = write(tmp_path / "train.csv", *board(80)), tmp_path / "model.wm"
    arguments = ["select", str(table), "--quiet", "--cv", "3", "--model", str(model)]
    found = []
    for more in ([], ["--max-time", "600"]):
        assert main([*arguments, *more]) == 0
        found.append(capsys.readouterr().out.splitlines()[:4])
    assert found[0] == found[1]


def write_slow(path: Path) -> Path:
    """A table for which a search takes seconds."""
    X, y = datasets.noisy_chess_board(2500, random_state=0)
    return write(path, X, y.tolist())


def test_time_that_does_not_suffice_for_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, model = write_slow(tmp_path / "train.csv"), tmp_path / "model.wm"
    # How much is done until then depends on the machine, so the time grows until it suffices for something.
    for seconds in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0):
        model.unlink(missing_ok=True)
        status = main(["select", str(table), "--quiet", "--max-time", str(seconds), "--model", str(model)])
        printed, said = capsys.readouterr()
        if status == 0:
            break
        assert status == 1
        assert said.splitlines()[-1].startswith(f"widemargin: --max-time {seconds:g} is too short")
        assert printed == ""
        assert not model.exists()
    assert status == 0
    (work,) = [line for line in printed.splitlines() if line.startswith("work")]
    assert "not finished" in work
    assert float(work.split()[-2]) < seconds + 1.0
    assert open_model(model).selection is not None


def finished_candidates(journal: Path, folds: int) -> int:
    """Count the candidates that a journal holds on all folds."""
    lines = journal.read_text(encoding="utf-8").split("\n")[1:-1] if journal.exists() else []
    counts = Counter(json.loads(line)["evaluation"] // folds for line in lines)
    return sum(count == folds for count in counts.values())


def test_an_interruption_ends_with_the_best_until_then(tmp_path: Path) -> None:
    table, journal, model = write_slow(tmp_path / "train.csv"), tmp_path / "study.jsonl", tmp_path / "model.wm"
    command = [COMMAND, "select", str(table), "--journal", str(journal), "--model", str(model), "--n-jobs", "2"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and finished_candidates(journal, folds=5) == 0:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate(timeout=60)
    assert process.returncode == 0
    note, *warning = said.splitlines()
    assert note == "The target is column 'label', by its name."
    assert all(line.startswith("Warning: the model is not better than ") for line in warning)  # as it may be so early
    assert "not finished" in printed
    assert open_model(model).selection is not None
    assert 0 < finished_candidates(journal, folds=5) < 72


def test_an_interruption_before_anything_is_found(tmp_path: Path) -> None:
    pipe, model = tmp_path / "pipe.csv", tmp_path / "model.wm"
    os.mkfifo(pipe)
    command = [COMMAND, "select", str(pipe), "--model", str(model)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with pipe.open("wb"):  # waits until the command reads
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate(timeout=60)
    assert (process.returncode, printed, said) == (130, "", "widemargin: interrupted\n")
    assert not model.exists()


def test_a_best_point_on_the_edge_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(selection, "c_values", lambda: np.array([0.01, 0.04]))
    X, y = datasets.chess_board(200, size=2, random_state=0)
    arguments = ["select", str(write(tmp_path / "train.csv", X, y.tolist())), "--quiet", "--cv", "3"]
    monkeypatch.setattr(growth, "MOST_STEPS", 0)
    assert main(arguments) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("edge")]
    assert line == "edge      C is the largest that was tried; a better model may lie beyond"
    monkeypatch.undo()
    assert main(arguments) == 0
    assert "edge" not in capsys.readouterr().out
