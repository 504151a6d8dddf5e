"""Tables to try things out on, and the commands that README begins with."""

import os
import re
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from widemargin import datasets
from widemargin.cli import main
from widemargin.cli.generate import GENERATORS

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.parametrize("name", GENERATORS)
def test_tables_hold_what_the_generator_draws(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "table.csv"
    assert main(["generate", name, str(path), "--samples", "50", "--seed", "3"]) == 0
    generator = getattr(datasets, name.replace("-", "_"))
    X, y = generator(50, random_state=3)
    table = datasets.read_table(path, target="label")
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.y, y)
    printed, remark = capsys.readouterr()
    assert printed == ""
    assert f"{datasets.bayes_error(generator):.1%}" in remark


def test_a_folder_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "absent" / "table.csv"
    assert main(["generate", "twonorm", str(path)]) == 1
    assert capsys.readouterr().err == f"widemargin: TABLE must name a file in a folder that exists, got {path}\n"


def test_the_commands_that_the_readme_begins_with(tmp_path: Path) -> None:
    commands, *outputs = re.findall(r"^```(?:sh|text)\n(.*?)^```", README.read_text(encoding="utf-8"), re.S | re.M)
    to_try = [part for part in commands.strip().split(" && ") if part.startswith("widemargin")]
    assert [line.split()[1] for line in to_try] == ["generate", "select"]
    environment = {**os.environ, "PATH": f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        " && ".join(to_try), shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    promised, printed = ([(line[:10], line[10:]) for line in text.splitlines()] for text in (outputs[0], done.stdout))
    assert [name for name, _ in printed] == [name for name, _ in promised]
    for (name, fact), (_, promise) in zip(printed, promised, strict=True):
        if name.strip() in ("data", "model", "saved"):
            assert fact == promise
        if name.strip() == "score":
            score, promised_score = (float(text.split()[1].rstrip(",")) for text in (fact, promise))
            assert score == pytest.approx(promised_score, abs=0.02)
