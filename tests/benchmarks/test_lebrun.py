"""The scripts of Lebrun's tables, on a folder of made-up samples; verdicts that can fail."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.papers.__main__ import main
from benchmarks.papers.lebrun import kept as lebrun_kept
from benchmarks.papers.lebrun import lebrun_few_features, lebrun_search, lebrun_table_3
from benchmarks.papers.lebrun.kept import Kept, Wanted
from benchmarks.papers.lebrun.lebrun_search import Compared
from benchmarks.papers.lebrun.lebrun_table_3 import PAPER, Row
from benchmarks.papers.lebrun.problems import Cell, all_exponents, problems
from widemargin.runtime import INTERRUPTED


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a little adult and a little shuttle: made-up rows, one column that does not vary."""
    generator = np.random.default_rng(0)
    X = (generator.random((120, 6)) < 0.4).astype(np.float32)
    X[:, 5] = 1.0
    np.savez(tmp_path / "a9a.npz", X=X, y=np.where(X[:, 0] + X[:, 1] > 0, 1, -1))
    numbers = generator.integers(-50, 50, size=(140, 3)).astype(np.int16)
    np.savez(tmp_path / "shuttle.npz", X=numbers, y=np.repeat(np.arange(1, 8), 20))
    return tmp_path


def test_problems(folder: Path) -> None:
    adult, *classes = problems(["adult", "shuttle"], folder)
    assert adult.X.shape == (120, 5)
    assert adult.X.dtype == np.float32
    assert [one.name for one in classes] == [f"shuttle {label}" for label in (1, 2, 3, 4, 5, 7)]
    assert all((one.y == 1).sum() == 20 for one in classes)
    np.testing.assert_allclose(classes[0].X.std(axis=0), 1.0, rtol=1e-6)
    assert len(all_exponents()) == 31
    assert all_exponents(10) == [-10, 0, 10, 20]


def test_the_search_beside_the_grid(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--datasets", "adult", "--data", str(folder), "--seeds", "2", "--highest", "3"]
    main(["lebrun_search", *arguments, "--paper"])
    printed = capsys.readouterr().out
    assert "not judged: every seed" in printed
    main(["lebrun_search", "--datasets", "web", "--data", str(folder)])
    assert "not judged: no data set was found" in capsys.readouterr().out


def compared(qualities: list[float], evaluations: list[int]) -> Compared:
    best = Cell(2, 14, 6, 0.8, 0.82, 6)
    return Compared("adult", best, best._replace(quality=0.7), 15_376, 1.0, qualities, evaluations, 1.0)


def test_the_verdict_of_the_search() -> None:
    good = compared([0.8, 0.797], [900, 1500])
    assert lebrun_search.verdict([good], paper=False).startswith("pass")
    poor = compared([0.8, 0.795], [900, 1600])
    said = lebrun_search.verdict([good, poor], paper=False)
    assert said.startswith("FAIL")
    assert "0.7950 is 0.9938 of 0.8000" in said
    assert "1,600 evaluations of 15,376" in said
    # What levels above have to offer counts.
    above = good._replace(best_above=good.best._replace(quality=0.85))
    assert lebrun_search.verdict([above], paper=False).startswith("FAIL")


def test_table_3_on_a_few_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["lebrun_table_3", "--datasets", "adult", "--data", str(folder), "--penalties", "0.01"])
    printed = capsys.readouterr().out
    assert "adult, 0.01, with features" in printed
    assert "5,634" in printed
    assert "not judged" in printed


def test_more_walks_are_more_evaluations(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def evaluations(*walks: str) -> int:
        arguments = ["--datasets", "adult", "--data", str(folder), "--penalties", "0.01", "--features", "with"]
        main(["lebrun_table_3", *arguments, *walks])
        (line,) = [one for one in capsys.readouterr().out.splitlines() if "split 0" in one]
        assert ("4 walks" in line) == bool(walks)
        return int(line.split(" evaluations")[0].split()[-1].replace(",", ""))

    assert evaluations("--walks", "4") > evaluations()


def test_table_3_goes_on_where_it_was_cut(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept"
    arguments = ["--datasets", "adult", "--data", str(folder), "--penalties", "0.01", "--keep", str(kept)]

    def printed(*others: str) -> list[str]:
        main(["lebrun_table_3", *arguments, *others])
        return capsys.readouterr().out.splitlines()

    assert not [line for line in printed("--show") if "split 0" in line]
    whole = printed("--features", "with")
    (line,) = [line for line in whole if line.startswith("adult, 0.01, with features, split 0: ")]
    assert line.endswith("(6 intensifications in a row found nothing better)")
    result, journal = kept / "adult-0.01-with-features-split-0.json", kept / "adult-0.01-with-features-split-0.jsonl"
    assert result.exists()
    assert len(list(kept.iterdir())) == 2
    # What is finished is not done again, and shown with what others have finished.
    monkeypatch.setattr(lebrun_kept, "compact", None)
    assert line in printed("--features", "with")
    assert line in printed("--show")
    monkeypatch.undo()
    # A search that was killed 100 seconds after it began, 30 seconds into what an earlier one had left.
    chosen = json.loads(result.read_text())
    result.unlink()
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:100]))
    began = kept / "adult-0.01-with-features-split-0.began"
    began.write_text(json.dumps([30.0, journal.stat().st_mtime - 100.0]))
    printed("--features", "with")
    again = json.loads(result.read_text())
    assert not began.exists()
    assert again["seconds"] > 130.0
    assert {**again, "seconds": 0.0} == {**chosen, "seconds": 0.0}
    # One whose time was up goes on too, and its seconds count.
    result.write_text(json.dumps({**chosen, "seconds": 7.0, "evaluations": 3, "ended": "time is up"}))
    printed("--features", "with")
    assert json.loads(result.read_text())["evaluations"] == chosen["evaluations"]
    assert json.loads(result.read_text())["seconds"] > 7.0


def test_an_interrupted_model_is_kept_and_ends_the_table(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (adult,) = problems(["adult"], folder)
    model, seconds = lebrun_kept.compact(adult, 0.01, features=True, seed=0, max_evaluations=500)
    model.models_[0] = replace(model.models_[0], ended=INTERRUPTED)
    monkeypatch.setattr(lebrun_kept, "compact", lambda *_, **__: (model, seconds))
    kept = Kept(tmp_path / "kept")
    with pytest.raises(KeyboardInterrupt):
        kept.model(adult, Wanted("it", 0.01, True, 0, {}))
    known = kept.known("it")
    assert known is not None
    assert known.cut_short


def test_showing_needs_a_folder() -> None:
    with pytest.raises(SystemExit, match="--show needs --keep"):
        main(["lebrun_table_3", "--show"])


def test_the_verdict_of_table_3() -> None:
    def row(label: int, rate: float, n_support: int) -> Row:
        return Row(f"shuttle {label}, 0.01, with features", 1.0, 2, n_support, 2, rate, 0.9, 100, 0, None)

    good = [row(2, 0.9995, 2), row(4, 0.9991, 16), row(1, 0.9, 99)]
    assert lebrun_table_3.objections(good) == []
    bad = [row(2, 0.9985, 2), row(4, 0.9995, 17)]
    assert lebrun_table_3.objections(bad) == [
        "class 2 at 99.85% with 2 support vectors",
        "class 4 at 99.95% with 17 support vectors",
    ]
    assert lebrun_table_3.verdict(bad, ["class 2"]).startswith("FAIL")


def test_all_models_of_few_features(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--data", str(folder), "--features", "2", "--support-vectors", "5", "--apart", "10"]
    main(["lebrun_few_features", *arguments, "--class", "5", "--seeds", "2"])
    printed = capsys.readouterr().out.splitlines()
    assert sum("quality " in line for line in printed[2:]) == sum("rate, at most 5" in line for line in printed) == 2
    assert [mask.tolist() for mask in lebrun_few_features.subsets(2, 2)] == [[True, False], [False, True], [True, True]]
    with pytest.raises(SystemExit, match="class 6 has no row"):
        main(["lebrun_few_features", *arguments, "--class", "6"])


def test_qualities_of_the_paper_fit_their_formula() -> None:
    for (_, penalty, features), one in PAPER.items():
        if one.quality is not None:
            cost = penalty * np.log2(one.n_support) + (penalty * np.log2(one.n_features) if features else 0.0)
            assert abs(one.rate - cost - one.quality) < 0.015


def test_figure_1(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "figure.png"
    arguments = ["--datasets", "adult", "--data", str(folder), "--highest", "2", "--every", "10"]
    main(["lebrun_figure_1", *arguments, "--picture", str(picture)])
    assert "adult: rate" in capsys.readouterr().out
    assert picture.stat().st_size > 10_000
