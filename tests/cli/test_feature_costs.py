"""Costs of features out of options and files: by name, one for an encoded column, and what is none."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pytest

from widemargin.cli import main
from widemargin.cli.feature_costs import feature_costs, named_cost
from widemargin.cli.messages import CommandError
from widemargin.datasets import Table

TABLE = Table(np.zeros((2, 4)), None, ["size", "hue=blue", "hue=red", "age"], None, {"hue": ("blue", "red")})
NAMELESS = Table(np.zeros((2, 3)), None, None, None)


def test_nobody_says() -> None:
    assert feature_costs([], None, TABLE) is None


def test_costs_by_name(tmp_path: Path) -> None:
    path = tmp_path / "costs.csv"
    path.write_text('\ufeffname,cost\nage,3\n"hue",0.5\n\n', encoding="utf-8")
    assert feature_costs([], path, TABLE).tolist() == [1.0, 0.5, 0.5, 3.0]
    assert feature_costs([("age", 4.0), ("hue=red", 2.0)], path, TABLE).tolist() == [1.0, 0.5, 2.0, 4.0]
    # Those of single features override those of their column, in any order; options override the file.
    assert feature_costs([("hue=red", 2.0), ("hue", 5.0)], None, TABLE).tolist() == [1.0, 5.0, 2.0, 1.0]
    path.write_text("hue=blue,5\nhue,2\n")
    assert feature_costs([], path, TABLE).tolist() == [1.0, 5.0, 2.0, 1.0]
    assert feature_costs([("hue", 7.0)], path, TABLE).tolist() == [1.0, 7.0, 7.0, 1.0]
    assert feature_costs([("column 2", 4.0)], None, NAMELESS).tolist() == [1.0, 4.0, 1.0]


def test_repeated_options_are_refused() -> None:
    with pytest.raises(
        CommandError, match=r"^--cost names 'age' more than once; give each feature one cost$"
    ) as refused:
        feature_costs([("age", 2.0), ("size", 3.0), ("age", 900.0)], None, TABLE)
    assert refused.value.status == 2


@pytest.mark.parametrize("content", ["\n\nfeature,cost\nage,3\n", " age , 3 \n,\n", "feature,cost 2020\r\nage,3\r\n"])
def test_blanks_in_files_and_lines_before_a_heading(content: str, tmp_path: Path) -> None:
    path = tmp_path / "costs.csv"
    path.write_text(content, newline="")
    assert feature_costs([], path, TABLE).tolist() == [1.0, 1.0, 1.0, 3.0]


def test_names_of_several_lines(tmp_path: Path) -> None:
    path = tmp_path / "costs.csv"
    path.write_text('"blood\npressure",3\nsize,0\n')
    table = Table(np.zeros((2, 2)), None, ["blood\npressure", "size"], None)
    with pytest.raises(
        CommandError, match=r"costs\.csv, line 3: expected a name and a number above 0, found 'size,0'$"
    ):
        feature_costs([], path, table)
    path.write_text('"blood\npressure",3\n')
    assert feature_costs([], path, table).tolist() == [3.0, 1.0]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("age,3\nage,4\n", "costs.csv, line 2: 'age' has a cost already"),
        ("age,3\nsize,big\n", "costs.csv, line 2: expected a name and a number above 0, found 'size,big'"),
        ("age,-1\n", "costs.csv, line 1: expected a name and a number above 0, found 'age,-1'"),
        ("age,1O\nsize,2\n", "costs.csv, line 1: expected a name and a number above 0, found 'age,1O'"),
        ("hue,1O\nsize,2\n", "costs.csv, line 1: expected a name and a number above 0, found 'hue,1O'"),
        ("weight,\nsize,2\n", "costs.csv, line 1: expected a name and a number above 0, found 'weight,'"),
        ("name,cost\nname,cost\n", "costs.csv, line 2: expected a name and a number above 0, found 'name,cost'"),
        ("age,1_0\n", "costs.csv, line 1: expected a name and a number above 0, found 'age,1_0'"),
        (" age,3\nage ,4\n", "costs.csv, line 2: 'age' has a cost already"),
        ("age\n", "costs.csv, line 1: expected a name and a number above 0, found 'age'"),
        (
            "weight,3\n",
            "--costs names 'weight'; the features are 'size', 'hue=blue', 'hue=red', 'age', the encoded columns 'hue'",
        ),
    ],
)
def test_files_that_are_refused(content: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "costs.csv"
    path.write_text(content)
    with pytest.raises(CommandError) as refused:
        feature_costs([], path, TABLE)
    assert str(refused.value).replace(f"{tmp_path}/", "") == words


def test_names_that_are_unknown() -> None:
    with pytest.raises(
        CommandError, match=r"^--cost names 'weight'; the features are 'column 1', 'column 2', 'column 3'"
    ):
        feature_costs([("weight", 2.0)], None, NAMELESS)


@pytest.mark.parametrize("given", ["age", "=2", "age=", "age=0", "age=inf", "age=1_0", "age=much", " =2"])
def test_options_that_are_refused(given: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="must be NAME=COST with a number above 0, got"):
        named_cost(given)


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "train.csv"
    table.write_text("x,label\n" + "".join(f"{number},{'ab'[number % 2]}\n" for number in range(20)))
    assert main(["select", str(table), "--compact", "--quiet", "--costs", str(tmp_path / "none.csv")]) == 1
    assert "none.csv: No such file or directory" in capsys.readouterr().err
    assert main(["select", str(table), "--compact", "--costs", str(table), "--model", str(table)]) == 2
    assert "--model must name a file of its own" in capsys.readouterr().err
