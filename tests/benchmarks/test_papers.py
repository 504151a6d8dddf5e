import numpy as np
import pytest

from benchmarks.papers import glasmachers_table_6_3, glasmachers_table_7_2
from benchmarks.papers.__main__ import main
from benchmarks.papers.glasmachers_table_7_2 import Outcome, significantly_positive
from benchmarks.papers.selections import SELECTIONS, Counts, evaluations_ratio


@pytest.fixture
def small_folder(tmp_path):
    """A folder with a little spam and a little connect-4: the right columns, made-up rows."""
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 5))
    noise = random.normal(scale=0.5, size=300)
    np.savez(tmp_path / "spambase.npz", X=X, y=np.where(X[:, 0] * X[:, 1] + noise > 0, 1, 0))
    squares = random.integers(3, size=(300, 6))
    one_hot = (squares[:, :, None] == np.arange(3)).reshape(300, -1).astype(np.float32)
    names = [f"a{number}={letter}" for number in range(6) for letter in "box"]
    labels = np.where(squares[:, 0] == squares[:, 1], 1, -1)
    labels[:20] = 0
    np.savez(tmp_path / "connect4.npz", X=one_hot, y=labels, feature_names=np.array(names))
    return tmp_path


def test_table_7_2_on_the_chess_board(capsys):
    main(["glasmachers_table_7_2", "--datasets", "chess-board-1000", "--permutations", "2"])
    printed = capsys.readouterr().out
    assert "chess-board-1000: pass" in printed
    assert "1,883,310" in printed


def test_table_7_2_skips_what_is_missing_and_refuses_what_is_unknown(tmp_path, capsys):
    main(["glasmachers_table_7_2", "--datasets", "heart", "--data", str(tmp_path)])
    assert "heart: skipped. The data folder" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="no data set 'hearts'"):
        main(["glasmachers_table_7_2", "--datasets", "hearts"])


def test_table_7_2_verdict_can_fail():
    outcome = Outcome(41, 3, 100, 80, 1.0, 1.0, significant=True)
    text = glasmachers_table_7_2.verdicts({"chess-board-1000": outcome, "heart": outcome._replace(planning=101)})
    assert "FAIL, ratio 0.80" in text
    assert "on 1 of 2 data sets" in text


def test_significance():
    assert significantly_positive([5, 3, 4, 6, 7, 2, 3, 4])
    assert not significantly_positive([5, -3, 4, -6, 7, -2, 3, -4])
    assert not significantly_positive([0, 0, 0])


@pytest.mark.parametrize("table", ["glasmachers_table_6_2", "glasmachers_table_6_3"])
def test_tables_6_run_on_a_few_rows(table, small_folder, capsys):
    main([table, "--data", str(small_folder), "--permutations", "1", "--n-jobs", "1"])
    printed = capsys.readouterr().out
    assert "direction reproduced:" in printed
    assert "C = 4.5, gamma = 0.2222" in printed
    empty = small_folder / "empty"
    empty.mkdir()
    main([table, "--data", str(empty)])
    assert "skipped. The data folder" in capsys.readouterr().out


def test_table_6_3_verdict_depends_on_both_ends():
    def counts(ratio):
        rows = dict(zip(SELECTIONS, (2.0, 1.0, ratio), strict=True))
        return {selection: Counts(1, rows[selection], 1.0, 1.0) for selection in SELECTIONS}

    assert evaluations_ratio(counts(0.8)) == pytest.approx(0.8)
    verdict = glasmachers_table_6_3.verdict
    assert "reproduced: yes" in verdict({0.01: counts(0.8), 0.05: counts(0.9)})
    assert "reproduced: no" in verdict({0.01: counts(0.8), 0.05: counts(0.7)})
    assert "reproduced: no" in verdict({0.01: counts(1.1), 0.05: counts(1.2)})
