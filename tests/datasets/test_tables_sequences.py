"""Tables with a column of sequences, and columns of groups."""

from __future__ import annotations

import pytest
from table_files import Write, refusal

from widemargin.datasets import TableError, read_features, read_sequences, read_table

TABLE = "id,window,kind,gene\n1,ACGT,yes,a\n2,GGTN,no,b\n3,acct,yes,a\n"


def test_a_column_is_the_sample(write: Write) -> None:
    table = read_table(write(TABLE), sequence="window", target="kind", group="gene", ignore=["id"])
    assert table.X == ["ACGT", "GGTN", "acct"]
    assert table.y is not None
    assert table.y.tolist() == ["yes", "no", "yes"]
    assert table.groups is not None
    assert table.groups.tolist() == ["a", "b", "a"]
    assert (table.names, table.target, table.notes) == (["window"], "kind", ())


def test_what_is_left_out_is_said(write: Write) -> None:
    table = read_table(write(TABLE), sequence="window", target="kind")
    assert table.notes == ("Columns 'id', 'gene', since the samples are sequences, are ignored.",)
    assert table.groups is None
    assert read_table(write(TABLE), sequence="window").notes[0] == "The target is column 'gene', the last one."
    assert read_table(write(TABLE), sequence="window", labelled=False).y is None


def test_groups_beside_features(write: Write) -> None:
    table = read_table(write("a,gene,y\n1,x,0\n2,x,1\n3,7,0\n"), group="gene")
    assert table.names == ["a"]
    assert table.X.tolist() == [[1.0], [2.0], [3.0]]
    assert table.groups is not None
    assert table.groups.tolist() == ["x", "x", "7"]
    with_text = read_table(write("a,gene,b,y\n1,x,u,0\n2,x,v,1\n"), group="gene", encode=True)
    assert with_text.names == ["a", "b=u", "b=v"]
    assert with_text.groups is not None
    assert with_text.groups.tolist() == ["x", "x"]


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        (
            "window,y\nACGT,1\n5.1,0\n",
            {"sequence": "window"},
            "table.csv, line 3, column 'window': found '5.1', expected a sequence of letters.",
        ),
        (
            "window,y\nACGT,1\n,0\n",
            {"sequence": "window"},
            "table.csv, line 3, column 'window': the value is missing, expected a value.",
        ),
        (
            TABLE,
            {"sequence": "site"},
            "table.csv has no column named 'site'; its columns are 'id', 'window', 'kind', 'gene'.",
        ),
        (
            TABLE,
            {"sequence": "window", "target": "window"},
            "target and sequence both name column 'window'.",
        ),
        (TABLE, {"sequence": "window", "group": "window"}, "group and sequence both name column 'window'."),
        (TABLE, {"group": "gene", "ignore": ["gene"]}, "group and ignore both name column 'gene'."),
        (
            TABLE,
            {"sequence": "window", "encode": True},
            "encode is for columns that are features; the samples are those of column 'window'.",
        ),
        ("window\nACGT\n", {"sequence": "window"}, "table.csv has no column left for the target."),
    ],
)
def test_one_sentence_about_bad_ones(write: Write, content: str, options: dict[str, object], expected: str) -> None:
    assert refusal(write(content), **options) == expected


def test_formats_without_names_have_no_such_columns(write: Write) -> None:
    path = write("1 1:2\n", "table.svm")
    for option in ("sequence", "group"):
        assert refusal(path, **{option: "a"}).endswith(f"; {option} is for other formats.")


def test_new_sequences(write: Write) -> None:
    new = read_sequences(write(TABLE), column="window", target="kind")
    assert new.X == ["ACGT", "GGTN", "acct"]
    assert new.ids is None
    assert new.notes == (
        "Column 'kind', which the model predicts, is ignored.",
        "Columns 'id', 'gene', which the model was not trained on, are ignored.",
    )
    assert read_sequences(write("ACGT\nGGTA\n"), column="window", header=False).X == ["ACGT", "GGTA"]
    fasta = read_sequences(write(">a label=1\nACGT\n>b\nGG\n", "new.fa"), column="window", target="label")
    assert (fasta.X, fasta.ids, fasta.notes) == (["ACGT", "GG"], ["a", "b"], ())


def test_bad_new_ones(write: Write) -> None:
    for content, options, expected in (
        (TABLE, {"column": "site"}, "has no column named 'site'; its columns are 'id', 'window', 'kind', 'gene'"),
        (TABLE, {}, "has 4 columns; name the one of sequences"),
        ("window\n12\n", {"column": "window"}, "found '12', expected a sequence of letters"),
        ("1 1:2\n", {"format": "libsvm"}, "is in LIBSVM format, which holds numbers; a column of sequences is needed"),
    ):
        with pytest.raises(TableError, match=expected):
            read_sequences(write(content), **options)  # type: ignore[arg-type]


def test_models_of_numbers_take_no_sequences(write: Write) -> None:
    path = write(">a\nACGT\n", "new.fa")
    with pytest.raises(TableError, match=r"FASTA format, which holds sequences, but .* columns named 'a'\."):
        read_features(path, n_features=1, names=["a"])
    with pytest.raises(TableError, match=r"FASTA format, which holds sequences, but .* columns of numbers\."):
        read_features(path, n_features=1)
