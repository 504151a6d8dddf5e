"""Tables of [Abe2007]: the widths of iris, and verdicts that can fail."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from benchmarks.papers import abe_tables
from benchmarks.papers.__main__ import main
from benchmarks.papers.abe_tables import METHODS, Found, Split, scaled, thinned


@pytest.fixture
def folder(tmp_path):
    """A folder with iris, which scikit-learn has."""
    X, y = load_iris(return_X_y=True)
    np.savez(tmp_path / "iris.npz", X=X, y=y)
    return tmp_path


def test_iris_has_the_widths_of_the_paper(folder, capsys):
    main(["abe_tables", "--datasets", "iris,usps", "--data", str(folder), "--n-jobs", "1"])
    printed = capsys.readouterr().out
    assert "usps: skipped" in printed
    assert "iterations: pass" in printed
    assert "iris, RBF(s): pass, 13.97 (paper 14.1)" in printed
    assert "iris, Diag(s): pass, 0.9736 (paper 0.975)" in printed


def test_unknown_data_sets_are_refused():
    with pytest.raises(SystemExit, match="no data set 'iri'"):
        main(["abe_tables", "--datasets", "iri"])


def test_verdicts_can_fail():
    outcome = {method: Found(1.0, 1.0, 5.0, 0.0, None if method[-2] in "gl" else 11, 0.1) for method in METHODS}
    text = abe_tables.verdicts({"iris": outcome}, ["iris"])
    assert "iterations: FAIL, 11, allowed 10" in text
    assert "iris, RBF(s): FAIL, 1 (paper 14.1)" in text
    assert "iris, Diag(s): pass, 1 (paper 0.975)" in text
    assert "iris" not in abe_tables.verdicts({"iris": outcome}, [])
    assert abe_tables.verdicts({}, []) == "not judged"


def test_a_quick_look_keeps_shares_and_ranges_come_from_training_rows():
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(3_000, 2)), np.arange(3_000) % 3
    X[:, 1] = 5.0
    split = thinned(Split(X, y, X[:900], y[:900]))
    assert sorted(np.bincount(split.y).tolist()) == [333, 333, 334]
    assert len(split.y_test) == 900
    ranges = scaled(split)
    assert ranges.X.min(axis=0).tolist() == [0.0, 0.0]
    assert ranges.X.max(axis=0).tolist() == pytest.approx([1.0, 0.0])
