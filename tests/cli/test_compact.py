"""``widemargin select --compact``: a small model out of a table, and what does not go together."""

from __future__ import annotations

import csv
import io
import os
import signal
import subprocess
import sysconfig
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris

from widemargin import CompactSVC
from widemargin.cli import main
from widemargin.persistence.model_file import open_model

COMMAND = str(Path(sysconfig.get_path("scripts")) / "widemargin")


def write(path: Path, data: Any, columns: int | None = None) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow([*data.feature_names[:columns], "label"])
        for row, label in zip(data.data.tolist(), data.target_names[data.target].tolist(), strict=True):
            table.writerow([*row[:columns], label])
    return path


@pytest.fixture(scope="module")
def cancer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("tables") / "cancer.csv", load_breast_cancer())


@pytest.fixture(scope="module")
def iris(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("tables") / "iris.csv", load_iris())


def facts(printed: str) -> dict[str, str]:
    return {line.split()[0]: line[10:] for line in printed.splitlines()}


def test_two_classes(cancer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "model.wm"
    assert main(["select", str(cancer), "--compact", "--penalty", "0.05", "--quiet", "--model", str(model)]) == 0
    printed, said = capsys.readouterr()
    assert said == "The target is column 'label', by its name.\n"
    found = facts(printed)
    assert list(found) == ["data", "model", "features", "score", "quality", "front", "cost", "work", "saved"]
    saved = open_model(model)
    data = load_breast_cancer()
    X, y = data.data, data.target_names[data.target]
    own = CompactSVC(select_features=True, sv_penalty=0.05, feature_penalty=0.05, random_state=0).fit(X, y)
    frame = pd.DataFrame(X, columns=data.feature_names)
    np.testing.assert_array_equal(saved.model.decision_function(frame), own.decision_function(X))
    vectors, features = own.n_support_.sum(), len(own.selected_features_)
    assert found["data"] == "569 samples, 30 features, 2 classes"
    assert found["model"] == (
        f"CompactSVC, Gaussian kernel, standardised features: {vectors} support vectors, {features} of 30 features"
    )
    assert found["features"] == ", ".join(data.feature_names[own.selected_features_])
    assert found["score"] == (
        f"balanced recognition rate {own.recognition_rate_:.4f} on 190 samples set aside; a single class alone has "
        "0.5000"
    )
    assert found["quality"] == f"{own.quality_:.4f} on 126 samples that chose the model"
    assert found["cost"] == f"{own.cost_} multiplications for a prediction"
    assert found["front"].startswith(f"{len(own.front_)} models that no other beats on the samples that chose: ")
    assert found["front"].endswith(f" with a rate of {own.front_['recognition_rate'].max():.4f}")
    assert found["work"].startswith(f"{own.n_evaluations_:,} evaluations; ")
    assert saved.feature_names == list(data.feature_names)
    assert saved.selection == {"recognition_rate": own.recognition_rate_, "quality": own.quality_}
    # Predictions, and the decision values that they follow from.
    assert main(["predict", str(model), str(cancer), "--scores"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert list(rows[0]) == ["prediction", "score_malignant"]
    np.testing.assert_array_equal([row["prediction"] for row in rows], own.predict(X))
    np.testing.assert_array_equal([float(row["score_malignant"]) for row in rows], own.decision_function(X))


def test_predictions_need_the_selected_columns_only(
    cancer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, some, odd = (tmp_path / name for name in ("model.wm", "some.csv", "odd.csv"))
    assert main(["select", str(cancer), "--compact", "--quiet", "--model", str(model)]) == 0
    saved: Any = open_model(model).model
    data = load_breast_cancer()
    assert saved.feature_names_in_.tolist() == list(data.feature_names)
    chosen = saved.selected_features_
    with some.open("w", newline="") as short, odd.open("w", newline="") as long:
        first, second = csv.writer(short), csv.writer(long)
        first.writerow(data.feature_names[chosen[::-1]])
        second.writerow(data.feature_names)
        for row in data.data:
            first.writerow(row[chosen[::-1]])
            second.writerow([value if column in chosen else "?" for column, value in enumerate(row)])
    capsys.readouterr()
    expected = ["prediction", *saved.predict(pd.DataFrame(data.data, columns=data.feature_names))]
    for table in (cancer, some, odd):
        assert main(["predict", str(model), str(table)]) == 0
        printed, said = capsys.readouterr()
        assert printed.split() == expected
        assert "ignored" not in said or table == cancer
    short_of_one = tmp_path / "short.csv"
    short_of_one.write_text(f"{data.feature_names[chosen[0]]}\n1\n")
    assert main(["predict", str(model), str(short_of_one)]) == 1
    assert f"lacks column{'s' * (len(chosen) > 2)} '{data.feature_names[chosen[1]]}'" in capsys.readouterr().err


def test_columns_without_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, new, model = tmp_path / "train.csv", tmp_path / "new.csv", tmp_path / "model.wm"
    X = np.random.default_rng(0).normal(size=(90, 3)).round(3)
    table.write_text("".join(f"{a},{b},{c},{'pn'[int(b > 0)]}\n" for a, b, c in X.tolist()))
    new.write_text("".join(f"?,{b},?\n" for _, b, _ in X.tolist()))
    assert main(["select", str(table), "--compact", "--penalty", "0.1", "--quiet", "--model", str(model)]) == 0
    saved: Any = open_model(model).model
    assert not hasattr(saved, "feature_names_in_")
    assert saved.selected_features_.tolist() == [1]
    capsys.readouterr()
    assert main(["predict", str(model), str(new)]) == 0
    assert capsys.readouterr().out.split()[1:] == saved.predict(X).tolist()


def test_several_classes(iris: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "model.wm"
    assert main(["select", str(iris), "--compact", "--keep-features", "--quiet", "--model", str(model)]) == 0
    found = facts(capsys.readouterr().out)
    assert list(found) == ["data", "model", "features", "classes", "score", "quality", "cost", "work", "saved"]
    assert found["data"] == "150 samples, 4 features, 3 classes"
    assert found["model"].endswith(" support vectors, 4 of 4 features")
    saved: Any = open_model(model).model
    assert found["classes"] == ", ".join(
        f"{one.label} ({one.n_support} support vectors, 4 features)" for one in saved.models_
    )
    assert main(["predict", str(model), str(iris), "--scores"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    names = ["setosa", "versicolor", "virginica"]
    assert list(rows[0]) == ["prediction", *(f"score_{name}" for name in names)]
    for row in rows:
        assert row["prediction"] == max(names, key=lambda name: float(row[f"score_{name}"]))


def test_options_of_the_model(iris: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.wm"
    options = ["--sv-penalty", "0.2", "--cost", "petal width (cm)=7.5", "--decision", "argmax"]
    assert main(["select", str(iris), "--compact", "--quiet", "--model", str(model), *options]) == 0
    saved: Any = open_model(model).model
    assert (saved.sv_penalty, saved.feature_penalty, saved.decision) == (0.2, 0.01, "argmax")
    assert saved.feature_costs == (1.0, 1.0, 1.0, 7.5)
    assert main(["select", str(iris), "--compact", "--quiet", "--model", str(model), "--feature-penalty", "0"]) == 0
    saved = open_model(model).model
    assert (saved.sv_penalty, saved.feature_penalty, saved.decision) == (0.01, 0.0, "calibrated")
    assert saved.feature_costs is None


def test_the_cheap_one_of_two_copies_is_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, costs = tmp_path / "train.csv", tmp_path / "costs.csv"
    values = np.random.default_rng(0).normal(size=200).round(3).tolist()
    table.write_text("dear,cheap,label\n" + "".join(f"{x},{x},{'np'[int(x > 0)]}\n" for x in values))
    costs.write_text("feature,cost\ndear,30\n")
    for options, chosen in ((["--costs", str(costs)], "cheap"), (["--cost", "cheap=30"], "dear")):
        assert main(["select", str(table), "--compact", "--quiet", "--penalty", "0.05", *options]) == 0
        found = facts(capsys.readouterr().out)
        assert found["features"] == chosen
        assert found["cost"].endswith(" multiplications for a prediction; its features cost 1, all features 31")


def test_one_feature(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "train.csv"
    lines = [f"{number / 7!r},{'high' if number > 30 else 'low'}" for number in range(60)]
    table.write_text("\n".join(["x,label", *lines]) + "\n", encoding="utf-8")
    assert main(["select", str(table), "--compact", "--quiet"]) == 0
    found = facts(capsys.readouterr().out)
    assert found["data"] == "60 samples, 1 feature, 2 classes"
    assert found["model"].endswith(": 2 support vectors, 1 of 1 feature")
    assert found["front"] == (
        "no other model is smaller or more accurate on the samples that chose it: 2 support vectors and 1 feature with "
        "a rate of 1.0000"
    )


def test_sparse_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(120, 5)) * (generator.random((120, 5)) < 0.6)
    labels = np.where(X[:, 1] + X[:, 3] > 0, 1, -1)
    lines = [
        " ".join([str(label), *(f"{column}:{value!r}" for column, value in enumerate(row, 1) if value)])
        for row, label in zip(X.tolist(), labels.tolist(), strict=True)
    ]
    table, model = tmp_path / "train.libsvm", tmp_path / "model.wm"
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert main(["select", str(table), "--compact", "--quiet", "--penalty", "0.05", "--model", str(model)]) == 0
    found = facts(capsys.readouterr().out)
    assert "column 2" in found["features"]
    # New samples stay sparse, too.
    predict, sparse = CompactSVC.predict, []
    monkeypatch.setattr(CompactSVC, "predict", lambda self, X: sparse.append(sp.issparse(X)) or predict(self, X))
    assert main(["predict", str(model), str(table)]) == 0
    assert sparse == [True]
    predicted = capsys.readouterr().out.split()[1:]
    assert np.mean(np.array(predicted, dtype=int) == labels) > 0.8


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--penalty", "0.1"], 2, "--penalty goes with --compact only"),
        (["--keep-features"], 2, "--keep-features goes with --compact only"),
        (["--cost", "a=2"], 2, "--cost goes with --compact only"),
        (["--decision", "argmax"], 2, "--decision goes with --compact only"),
        (
            ["--compact", "--keep-features", "--feature-penalty", "0.1"],
            2,
            "--feature-penalty has no effect with --keep-features, which leaves nothing to choose",
        ),
        (
            ["--compact", "--penalty", "0.1", "--sv-penalty", "0.1", "--feature-penalty", "0.1"],
            2,
            "--penalty has no effect beside both --sv-penalty and --feature-penalty",
        ),
        (
            ["--compact", "--cv", "3"],
            2,
            "--cv does not go with --compact, which sets a third of the samples aside instead",
        ),
        (
            ["--compact", "--target", "sepal length (cm)", "--ignore", "label"],
            2,
            "--compact chooses classifiers, but the target is numeric; leave it out, or add --task classification",
        ),
        (
            ["--compact", "--max-time", "1e-9"],
            1,
            "--max-time 1e-09 is too short: not every class has a model; allow more",
        ),
    ],
)
def test_what_does_not_go_together(
    iris: Path, arguments: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["select", str(iris), "--quiet", *arguments]) == status
    printed, errors = capsys.readouterr()
    assert printed == ""
    assert errors.splitlines()[-1] == f"widemargin: {said}"


def test_a_decision_between_two_classes_is_refused(cancer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["select", str(cancer), "--compact", "--quiet", "--decision", "argmax"]) == 2
    words = "widemargin: --decision has no effect with two classes, which one function tells apart"
    assert capsys.readouterr().err.splitlines()[-1] == words


@pytest.mark.parametrize("given", ["-1", "nan", "much"])
def test_penalties_that_are_none(given: str, iris: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["select", str(iris), "--compact", f"--penalty={given}"])
    assert ended.value.code == 2
    assert f"argument --penalty: must be a number of at least 0, got '{given}'" in capsys.readouterr().err


def test_classes_that_are_too_small(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "train.csv"
    table.write_text("x,label\n1,a\n2,a\n3,a\n4,b\n5,b\n", encoding="utf-8")
    assert main(["select", str(table), "--compact", "--quiet"]) == 1
    assert (
        capsys.readouterr().err.splitlines()[-1].startswith("widemargin: y holds 2 samples of class 'b'; every class")
    )


def test_a_journal_is_continued(iris: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = tmp_path / "study.jsonl"
    arguments = ["select", str(iris), "--compact", "--quiet", "--journal", str(journal)]
    found = []
    for count in (None, 100, None):
        if count is not None:
            journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:count]))
        assert main(arguments) == 0
        *lines, work = capsys.readouterr().out.splitlines()
        found.append([*lines, work.split(";")[0]])
    assert found[0] == found[1] == found[2]
    assert main([*arguments, "--penalty", "0.2"]) == 1
    assert "another objective" in capsys.readouterr().err


def test_time_that_does_not_suffice_for_everything(
    cancer: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from widemargin.objectives.prototype_quality import PrototypeQuality

    evaluate = PrototypeQuality.evaluate

    def slow(self: Any, *given: Any, **how: Any) -> Any:
        time.sleep(0.005)
        return evaluate(self, *given, **how)

    monkeypatch.setattr(PrototypeQuality, "evaluate", slow)
    assert main(["select", str(cancer), "--compact", "--quiet", "--max-time", "0.7"]) == 0
    printed, said = capsys.readouterr()
    assert "evaluations, not finished (time is up); " in facts(printed)["work"]
    assert said == "The target is column 'label', by its name.\n"


def test_an_interruption_ends_with_the_best_until_then(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(3000, 60)).round(3)
    table, journal, model = tmp_path / "train.csv", tmp_path / "study.jsonl", tmp_path / "model.wm"
    lines = [",".join([*map(str, row), "yes" if sum(row[:9]) > 0 else "no"]) for row in X.tolist()]
    table.write_text("\n".join([",".join([*(f"f{number}" for number in range(60)), "label"]), *lines]) + "\n")
    arguments = ["--compact", "--journal", str(journal), "--model", str(model), "--n-jobs", "1"]
    command = [COMMAND, "select", str(table), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    while process.poll() is None and (not journal.exists() or journal.read_bytes().count(b"\n") < 20):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (0, "The target is column 'label', by its name.\n")
    assert "not finished (interrupted)" in facts(printed)["work"]
    assert open_model(model).n_features == 60


def test_the_help_page_says_what_it_is_for(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["select", "--help"])
    printed = " ".join(capsys.readouterr().out.split())
    assert "--compact choose a small, fast classifier: few support vectors and few features" in printed
