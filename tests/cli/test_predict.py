"""``widemargin predict``: what it writes, what it says, how it ends, as a command in a process of its own or here."""

from __future__ import annotations

import csv
import gzip
import io
import os
import signal
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, SVR, OneClassSVM
from widemargin.cli import main
from widemargin.datasets.tables import read_table
from widemargin.persistence.model_file import load_model, save_model

Run = Callable[..., tuple[int, str, str]]

COMMAND = Path(sysconfig.get_path("scripts")) / "widemargin"
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
X, Y = load_iris(return_X_y=True)
SPECIES = load_iris().target_names[Y]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with models, and tables to predict."""
    folder = tmp_path_factory.mktemp("predict")
    frame = pd.DataFrame(X, columns=NAMES).assign(species=SPECIES)
    frame.to_csv(folder / "iris.csv", index=False)
    frame.iloc[::10, ::-1].to_csv(folder / "new.csv", index=False)
    frame.iloc[::10, :3].to_csv(folder / "short.csv", index=False)
    frame.assign(extra="x").iloc[::10, [0, 1, 2, 3, 5]].to_csv(folder / "extra.csv", index=False)
    (folder / "hole.csv").write_text(",".join(NAMES) + "\n1,2,3,4\n1,2,,4\n")
    table = read_table(folder / "iris.csv")
    assert table.y is not None
    model = make_pipeline(StandardScaler(), SVC()).fit(table.X, table.y)
    save_model(model, folder / "iris.wm", feature_names=table.names, target=table.target)
    save_model(SVR().fit(frame[NAMES[:3]], X[:, 3]), folder / "width.wm")
    save_model(OneClassSVM(nu=0.1).fit(X), folder / "usual.wm")
    sparse = sp.csr_matrix(np.where(X > 2.0, X, 0.0))
    dump_svmlight_file(sparse[::10], Y[::10], str(folder / "new.svm"), zero_based=False)
    save_model(SVC(decision_function_shape="ovo").fit(sparse, Y), folder / "sparse.wm")
    return folder


def run(folder: Path, *arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
    """Run the command in the folder; return its status, its output and its remarks."""
    process = subprocess.run(
        [COMMAND, "predict", *arguments], cwd=folder, input=stdin, capture_output=True, timeout=60, check=False
    )
    return process.returncode, process.stdout.decode(), process.stderr.decode()


@pytest.fixture
def run_here(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Do the same without a process, which is faster."""

    def runner(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.chdir(folder)
        try:
            status = main(["predict", *arguments])
        except SystemExit as ended:
            status = int(str(ended.code))
        return status, *capsys.readouterr()

    return runner


def column(text: str, name: str = "prediction") -> list[str]:
    return [row[name] for row in csv.DictReader(io.StringIO(text))]


def test_predictions_are_those_of_the_model(folder: Path) -> None:
    status, output, remarks = run(folder, "iris.wm", "new.csv", "--scores", "--n-jobs", "1")
    assert (status, remarks) == (0, "Column 'species', which the model predicts, is ignored.\n")
    model = make_pipeline(StandardScaler(), SVC()).fit(X, SPECIES)
    assert column(output) == model.predict(X[::10]).tolist()
    for number, name in enumerate(("setosa", "versicolor", "virginica")):
        written = [float(text) for text in column(output, f"score_{name}")]
        assert written == model.decision_function(X[::10])[:, number].tolist()


def test_output_file(folder: Path, run_here: Run) -> None:
    to_screen = run_here("iris.wm", "new.csv")[1]
    assert to_screen.startswith("prediction\nsetosa\n")
    path = folder / "predictions.csv"
    path.write_text("older")
    status, output, remarks = run(folder, "iris.wm", "new.csv", "--output", "predictions.csv", "--force")
    assert (status, output) == (0, "")
    assert remarks.endswith("Predictions of 15 samples written to predictions.csv.\n")
    assert path.read_text() == to_screen
    assert [name for name in os.listdir(folder) if name.startswith(".")] == []


def test_numbers_and_one_class(folder: Path, run_here: Run) -> None:
    status, output, remarks = run_here("width.wm", "short.csv")
    assert (status, remarks) == (0, "")
    expected = SVR().fit(X[:, :3], X[:, 3]).predict(X[::10, :3])
    assert [float(text) for text in column(output)] == expected.tolist()
    status, output, remarks = run_here("usual.wm", "extra.csv", "--no-header")
    assert status == 1
    assert remarks == (
        "widemargin: extra.csv has 5 columns, but the model, which knows no names of columns, takes 4, in the order of "
        "its training.\n"
    )
    rows = b"\n".join(b",".join(b"%r" % number for number in row) for row in X[::10].tolist())
    status, output, remarks = run(folder, "usual.wm", "/dev/stdin", "--scores", stdin=rows)
    assert (status, remarks) == (0, "")
    model = OneClassSVM(nu=0.1).fit(X)
    assert column(output) == [str(side) for side in model.predict(X[::10])]
    assert [float(text) for text in column(output, "score")] == model.decision_function(X[::10]).tolist()


def test_sparse_rows_and_compression(folder: Path, run_here: Run) -> None:
    (folder / "new.svm.gz").write_bytes(gzip.compress((folder / "new.svm").read_bytes()))
    status, output, remarks = run_here("sparse.wm", "new.svm.gz", "--scores")
    assert (status, remarks) == (0, "")
    assert output.startswith("prediction,score_0_over_1,score_0_over_2,score_1_over_2\n0,")
    assert column(output) == run_here("sparse.wm", "new.svm", "--format", "libsvm")[1].split()[1:]
    # A model of dense rows takes the same file.
    status, output, remarks = run_here("usual.wm", "new.svm")
    assert (status, remarks) == (0, "")
    rows = np.where(X > 2.0, X, 0.0)[::10]
    assert column(output) == [str(side) for side in OneClassSVM(nu=0.1).fit(X).predict(rows)]


def test_columns_that_the_model_does_not_know(run_here: Run) -> None:
    status, output, remarks = run_here("iris.wm", "extra.csv")
    assert status == 0
    assert len(output.splitlines()) == 16
    assert remarks == "Column 'extra', which the model does not know, is ignored.\n"


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (
            ("iris.wm", "short.csv"),
            1,
            "short.csv lacks column 'petal width', which the model reads; its columns",
        ),
        (
            ("iris.wm", "hole.csv"),
            1,
            "hole.csv, line 3, column 'petal length': the value is missing, expected a finite",
        ),
        (("iris.wm", "absent.csv"), 1, "absent.csv: No such file or directory"),
        (("iris.wm", "."), 1, ".: Is a directory"),
        (("absent.wm", "new.csv"), 1, "absent.wm: No such file or directory"),
        (
            ("new.csv", "new.csv"),
            1,
            "new.csv cannot be used as a model: it is damaged, or no model file (File is not a",
        ),
        (("iris.wm", "iris.wm"), 1, "iris.wm is a zip archive (a spreadsheet or a model, perhaps); a table in CSV"),
        (
            ("iris.wm", "new.csv", "--output", "no/x.csv"),
            1,
            "--output must name a file in a folder that exists, got no/x.csv",
        ),
        (
            ("width.wm", "short.csv", "--scores"),
            2,
            "--scores requires a classifier, but width.wm holds a regression model.",
        ),
        (("iris.wm",), 2, "the following arguments are required: TABLE (see widemargin predict --help)"),
        (("iris.wm", "new.csv", "--format", "xls"), 2, "argument --format: invalid choice: 'xls'"),
        (("iris.wm", "new.csv", "--n-jobs", "0"), 2, "argument --n-jobs: must be a whole number other than 0, got '0'"),
    ],
)
def test_errors_are_one_line(run_here: Run, arguments: tuple[str, ...], status: int, message: str) -> None:
    ended, output, remarks = run_here(*arguments)
    assert (ended, output) == (status, "")
    complaints = [line for line in remarks.splitlines() if not line.startswith("Column ")]
    assert len(complaints) == 1
    assert complaints[0].startswith("widemargin")
    assert message in complaints[0]


def test_status_of_the_process(folder: Path) -> None:
    status, output, remarks = run(folder, "iris.wm", "absent.csv")
    assert (status, output, remarks) == (1, "", "widemargin: absent.csv: No such file or directory\n")
    status, output, remarks = run(folder, "iris.wm")
    assert (status, output) == (2, "")
    assert remarks == (
        "widemargin predict: the following arguments are required: TABLE (see widemargin predict --help)\n"
    )


def test_interruption_leaves_nothing_behind(folder: Path) -> None:
    pipe = folder / "pipe.csv"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [COMMAND, "predict", "iris.wm", "pipe.csv", "--output", "never.csv"], cwd=folder, stderr=subprocess.PIPE
    )
    with pipe.open("wb"):  # waits until the command reads
        process.send_signal(signal.SIGINT)
        _, remarks = process.communicate(timeout=60)
    assert process.returncode == 130
    assert remarks == b"widemargin: interrupted\n"
    assert not (folder / "never.csv").exists()


def test_output_that_nobody_reads(folder: Path) -> None:
    process = subprocess.Popen(
        [COMMAND, "predict", "iris.wm", "new.csv"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    remarks = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 141
    assert remarks == b"Column 'species', which the model predicts, is ignored.\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_full_disk(folder: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        process = subprocess.run(
            [COMMAND, "predict", "iris.wm", "extra.csv"], cwd=folder, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert process.returncode == 1
    assert process.stderr.splitlines()[1:] == [b"widemargin: No space left on device"]


def test_trained_on_encoded_text(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("size,colour,label\n" + "1,red,0\n2,blue,1\n1.5,red,0\n2.5,blue,1\n" * 5)
    (tmp_path / "new.csv").write_text("colour,size\nblue,2\nred,1\n")
    (tmp_path / "odd.csv").write_text("colour,size\nblue,2\ngreen,1\n")
    table = read_table(tmp_path / "train.csv", encode=True)
    model = SVC().fit(table.X, table.y)
    save_model(model, tmp_path / "model.wm", feature_names=table.names, target=table.target, encoded=table.encoded)
    assert run(tmp_path, "model.wm", "new.csv") == (0, "prediction\n1\n0\n", "")
    assert run(tmp_path, "model.wm", "odd.csv") == (
        1,
        "",
        "widemargin: odd.csv, line 3, column 'colour': found 'green', expected one of 'blue', 'red'.\n",
    )


def test_a_chosen_model_in_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    age, income = rng.integers(20, 60, 120), rng.normal(5000, 900, 120)
    frame = pd.DataFrame({"age": age, "income": income, "colour": rng.choice(["red", "blue"], 120)})
    labels = np.where((age > 40) ^ (frame["colour"] == "red"), "yes", "no")
    plain, encoded = tmp_path / "plain.wm", tmp_path / "encoded.wm"
    table = str(tmp_path / "train.csv")
    frame.assign(kind=labels).to_csv(table, index=False)
    arguments = ["select", table, "--cv", "2", "--quiet", "--model"]
    assert main([*arguments, str(plain), "--ignore", "colour"]) == 0
    assert main([*arguments, str(encoded), "--encode"]) == 0
    capsys.readouterr()
    for path, columns in ((plain, ["age", "income"]), (encoded, ["age", "income", "colour"])):
        assert main(["predict", str(path), table]) == 0
        predicted = column(capsys.readouterr().out)
        model = load_model(path)  # warnings are errors here
        assert model.feature_names_in_.tolist() == columns
        assert model.predict(frame[columns]).tolist() == predicted
    assert model.predict(frame[columns[::-1]]).tolist() == predicted
    assert model.score(frame, labels) > 0.9
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        load_model(plain).predict(frame[["income", "age"]])
