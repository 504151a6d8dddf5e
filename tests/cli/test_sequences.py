"""Sequences on the command line: a column of a table, FASTA files, groups; a model is chosen, saved, and predicts."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from widemargin.cli import main
from widemargin.kernels import Oligo
from widemargin.persistence.model_file import open_model

Run = Callable[..., tuple[int, str, str]]

RNG = np.random.default_rng(0)
Y = np.arange(60) % 2
GENES = [f"g{i // 3}" for i in range(60)]
X = ["".join(RNG.choice(list("ACGT"), 8)) + ("AGG" if y else "TCC") + "".join(RNG.choice(list("ACGT"), 8)) for y in Y]


def fasta(which: list[int], header: str) -> str:
    return "".join(f">{header.format(i=i, y=Y[i], gene=GENES[i])}\n{X[i][:10]}\n{X[i][10:]}\n" for i in which)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sequences")
    rows = [f"{i},{X[i]},{GENES[i]},{Y[i]}" for i in range(60)]
    (folder / "sites.csv").write_text("\n".join(["row,window,gene,label", *rows]) + "\n")
    every = list(range(60))
    (folder / "sites.fasta").write_text(fasta(every, "s{i} found by chance gene={gene} label={y}"))
    (folder / "starts.fasta").write_text(fasta(every[1::2], "s{i}"))
    (folder / "others.fa").write_text(fasta(every[::2], "s{i}"))
    half = fasta(every, "s{i} label={y}")
    (folder / "half.fasta").write_text(half[: half.index("\n", half.rindex(">")) + 1])
    (folder / "numbers.csv").write_text("window,label\n" + "\n".join(f"{i}.5,{i % 2}" for i in range(20)) + "\n")
    (folder / "targets.csv").write_text("\n".join(["window,amount", *(f"{x},{x.count('A') / 7}" for x in X)]) + "\n")
    vectors = "".join(f"{i % 7},{i % 2 + 0.1},p{i // 4},{i % 2}\n" for i in range(48))
    (folder / "vectors.csv").write_text("a,b,patient,y\n" + vectors)
    (folder / "short.csv").write_text("window\nACGTGGT\nNN\n")
    return folder


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(folder)

    def runner(*arguments: str) -> tuple[int, str, str]:
        try:
            status = main([*arguments])
        except SystemExit as ended:
            status = int(str(ended.code))
        return status, *capsys.readouterr()

    return runner


def facts(output: str) -> dict[str, str]:
    return {line[:10].strip(): line[10:] for line in output.splitlines()}


def test_a_column_is_chosen_for_saved_and_predicted(run: Run, folder: Path) -> None:
    status, output, remarks = run(
        *("select", "sites.csv", "--target", "label", "--sequence", "window", "--group", "gene", "--ignore", "row"),
        *("--model", "sites.wm", "--origin", "8", "--cv", "4"),
    )
    assert (status, remarks) == (0, "")
    found = facts(output)
    assert found["data"] == "60 sequences of 19 letters in 20 groups, 2 classes"
    assert found["model"].startswith("SVC, oligo kernel of 3-mers: C = ")
    assert "sigma = " in found["model"]
    assert found["score"].startswith("accuracy 1.0000, standard error 0.0000 over 4 folds, no group on both sides")
    assert found["saved"] == "sites.wm"
    saved = open_model(folder / "sites.wm")
    assert (saved.n_features, saved.feature_names, saved.target) == (None, ["window"], "label")
    assert isinstance(saved.model.kernel_, Oligo)
    assert saved.model.kernel_.origin == 8
    status, output, remarks = run("predict", "sites.wm", "sites.csv", "--scores")
    assert status == 0
    assert remarks == (
        "Column 'label', which the model predicts, is ignored.\n"
        "Columns 'row', 'gene', which the model was not trained on, are ignored.\n"
    )
    rows = list(csv.reader(io.StringIO(output)))
    assert rows[0] == ["prediction", "score_1"]
    assert [row[0] for row in rows[1:]] == [str(y) for y in Y]
    assert [float(row[1]) for row in rows[1:]] == saved.model.decision_function(X).tolist()


def test_labels_and_groups_in_headers(run: Run) -> None:
    status, output, remarks = run("select", "sites.fasta", "--group", "gene", "--model", "fasta.wm", "--quiet")
    assert (status, remarks) == (0, "The target is 'label' in the headers, by its name.\n")
    assert facts(output)["data"] == "60 sequences of 19 letters in 20 groups, 2 classes"
    status, output, remarks = run("predict", "fasta.wm", "starts.fasta")
    assert (status, remarks) == (0, "")
    assert output.splitlines() == ["name,prediction", *(f"s{i},1" for i in range(1, 60, 2))]
    assert run("predict", "fasta.wm", "sites.csv")[2] == (
        "widemargin: sites.csv has no column named 'sequence'; its columns are 'row', 'window', 'gene', 'label'.\n"
    )


def test_sequences_that_hold_nothing_are_left_out_and_named(run: Run, folder: Path) -> None:
    run("select", "starts.fasta", "others.fa", "--model", "some.wm", "--quiet")
    (folder / "gaps.fasta").write_text(f">a\n{'N' * 19}\n>b\n{X[1]}\n>c\nAC\n>d\n{X[0]}\n")
    status, output, remarks = run("predict", "some.wm", "gaps.fasta", "--scores")
    assert status == 0
    assert "2 of 4 sequences have no prediction, too short or with too few letters of the alphabet 'ACGT'" in remarks
    assert remarks.endswith(": 'a', 'c'.\n")
    values = open_model(folder / "some.wm").model.decision_function([X[1], X[0]]).tolist()
    assert output.splitlines() == [
        *("name,prediction,score_starts", "a,,", f"b,starts,{values[0]!r}", "c,,", f"d,others,{values[1]!r}"),
    ]
    (folder / "nothing.fasta").write_text(f">a\n{'N' * 19}\n")
    status, _, remarks = run("predict", "some.wm", "nothing.fasta")
    assert status != 0
    assert "all sequences are too short, or hold too few letters of the alphabet 'ACGT'" in remarks


def test_a_file_for_each_class(run: Run) -> None:
    status, output, remarks = run("select", "starts.fasta", "others.fa", "--model", "files.wm")
    assert (status, remarks) == (0, "")
    assert facts(output)["data"] == "60 sequences of 19 letters, 2 classes"
    status, output, _ = run("predict", "files.wm", "sites.fasta", "--output", "predictions.csv")
    assert (status, output) == (0, "")
    found = Path("predictions.csv").read_text().splitlines()
    assert found[1:3] == ["s0,others", "s1,starts"]


def test_numbers_are_learnt_from_sequences(run: Run) -> None:
    status, output, _ = run("select", "targets.csv", "--sequence", "window", "--cv", "3")
    assert status == 0
    assert facts(output)["model"].startswith("SVR, ")
    assert facts(output)["score"].startswith("R^2 0.")


def test_groups_of_vectors(run: Run) -> None:
    status, output, _ = run("select", "vectors.csv", "--group", "patient")
    assert status == 0
    assert facts(output)["data"] == "48 samples, 2 features in 12 groups, 2 classes"
    assert "no group on both sides of any" in facts(output)["score"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["half.fasta", "--target", "label"],
            "half.fasta, line 178: record 's59' has no letters, expected at least one.",
        ),
        (
            ["numbers.csv", "--sequence", "window"],
            "numbers.csv, line 2, column 'window': found '0.5', expected a sequence of letters.",
        ),
        (["sites.csv", "--sequence", "site"], "sites.csv has no column named 'site'; its columns are "),
        (["sites.csv", "--origin", "3", "--ignore", "window", "--ignore", "gene"], "--origin goes with sequences only"),
        (["sites.fasta", "--compact"], "--compact does not go with sequences, which have no features to leave out"),
        (["vectors.csv", "--compact", "--group", "patient"], "--compact does not go with --group"),
        (
            ["starts.fasta", "others.fa", "--target", "label"],
            "--target does not go with several files, each of which is a class",
        ),
        (["starts.fasta", "sites.csv"], "sites.csv is no FASTA file; of other tables there can be one only"),
        (
            ["starts.fasta", "./starts.fasta"],
            "several files are called starts, which is to be the name of a class; rename one",
        ),
        (
            ["sites.fasta", "--target", "label", "--group", "gene", "--cv", "21"],
            "--cv must be from 2 to 20, the number of groups; got 21",
        ),
        (["starts.fasta"], "starts.fasta has no tag in its headers that may be the target"),
        (["sites.fasta", "--target", "label", "--sequence", "window"], "sites.fasta is in FASTA format"),
        (["sites.csv", "--sequence", "window", "--encode"], "encode is for columns that are features"),
        (["sites.csv", "--sequence", "window", "--origin", "A"], "origin of Oligo is 'A'; a marker must be text"),
        (["sites.csv", "--sequence", "window", "--origin", "|"], "holds origin='|' never"),
    ],
)
def test_bad_ones_get_one_sentence(run: Run, arguments: list[str], sentence: str) -> None:
    status, output, remarks = run("select", *arguments)
    assert status in (1, 2)
    assert output == ""
    assert sentence in remarks.splitlines()[-1]
    assert remarks.splitlines()[-1].startswith("widemargin: ")


def test_rows_that_the_kernel_refuses(run: Run) -> None:
    assert run("select", "sites.csv", "--sequence", "window", "--model", "short.wm", "--cv", "3")[0] == 0
    status, output, remarks = run("predict", "short.wm", "short.csv")
    assert status == 0
    assert output.splitlines()[2] == '""'
    assert "1 of 2 sequences have no prediction" in remarks
    assert remarks.endswith(": row 2.\n")
