import json
import sys
from typing import ClassVar

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from benchmarks.peers.__main__ import COMMANDS, main
from benchmarks.peers.measure import Measurement, Run
from benchmarks.peers.models import KNOWN
from benchmarks.peers.peers import PEERS, Settings, installed
from benchmarks.peers.problems import PROBLEMS, Bar, Entry, Split
from benchmarks.peers.search import (
    Line,
    Result,
    differences,
    judge_all,
    judge_scores,
    line,
    worst_differences,
)
from benchmarks.peers.searches import (
    KINDS,
    SEARCHES,
    LiquidSearch,
    Plan,
    Selection,
    classifier_grid,
    one_class_grid,
    one_class_task,
    rejection_score,
    search_task,
    selection,
)
from benchmarks.peers.session import Options, Verdict, choose_peers
from widemargin import SVC, OneClassSVM

WHOLE, FIRST = {"plan": Plan(), "times": 1}, {"plan": Plan(), "times": 5}


def options(**changes):
    usual = {
        "folder": None,
        "problems": ("banana",),
        "peers": None,
        "repeats": 1,
        "n_jobs": 1,
        "time_limit": 60.0,
        "single_above": 30.0,
        "samples": None,
        "record": None,
    }
    return Options(**(usual | changes))


def two_blobs(n_rows=80, n_features=2, seed=0):
    random = np.random.default_rng(seed)
    y = np.where(np.arange(n_rows) % 2 == 0, 1, -1)
    return random.normal(size=(n_rows, n_features)) + 0.7 * y[:, None], y


@pytest.fixture
def folder(tmp_path):
    """A folder with some made-up rows of the stored problems."""
    X, y = two_blobs()
    np.savez(tmp_path / "raetsch_banana.npz", X=X, y=y)
    X, y = two_blobs(n_features=20)
    np.savez(tmp_path / "raetsch_ringnorm.npz", X=X, y=y)
    return tmp_path


def results(folder, *arguments):
    record = folder / "search.json"
    main(["search", "--data", str(folder), "--json", str(record), *arguments])
    return json.loads(record.read_text())["results"]


def test_search_runs_whole_and_records(folder, capsys):
    arguments = ["--problems", "banana,splice", "--samples", "60", "--repeats", "2", "--n-jobs", "1"]
    (result,) = results(folder, *arguments, "--peers", "widemargin,sklearn")
    printed = capsys.readouterr().out
    assert "banana search: 60 x 2, 10 x 10 cells of C and gamma, accuracy over 5 folds" in printed
    assert "splice search: skipped. The data folder" in printed
    assert "banana search, time    not judged: the bar is for the whole problem" in printed
    assert "banana search, scores  not judged: 60 samples are too few" in printed
    lines = {one["peer"]: one for one in result["lines"]}
    assert list(lines) == ["widemargin", "sklearn"]
    for one in lines.values():
        assert len(one["all_seconds"]) == 2
        assert one["seconds"] == pytest.approx(np.mean(one["all_seconds"]))
        assert (one["folds"], one["times"]) == (5, 1)
        assert len(one["scores"]) == 100
        assert one["best_score"] == max(one["scores"])
        assert one["notes"] == []
    assert lines["sklearn"]["largest"] == 0
    assert lines["widemargin"]["mean"] < 0.005
    assert lines["widemargin"]["solved"] + lines["widemargin"]["repeated"] == 500
    assert lines["widemargin"]["unfinished"] == 0


def test_long_searches_time_one_fold_of_the_others(folder, capsys):
    (result,) = results(folder, "--problems", "ringnorm", "--samples", "60", "--repeats", "1")
    printed = capsys.readouterr().out
    assert "sklearn: the first fold only, without the final fit; its time x 5" in printed
    assert "1 x 5" in printed
    lines = {one["peer"]: one for one in result["lines"]}
    assert {"widemargin", "sklearn", "halving"} <= set(lines)
    assert lines["sklearn"]["seconds"] == pytest.approx(5 * lines["sklearn"]["all_seconds"][0])
    assert (lines["sklearn"]["folds"], lines["widemargin"]["folds"]) == (1, 5)
    assert lines["widemargin"]["times"] == 1
    assert lines["widemargin"]["mean"] < 0.01
    assert lines["halving"]["scores"] is None
    assert lines["halving"]["largest"] is None
    assert lines["halving"]["best_score"] > 0.5
    assert result["judged"].keys() == {"time", "halving", "scores"}


@pytest.mark.parametrize(
    ("name", "described", "n_scores"),
    [
        ("satimage", "4 x 4 cells of C and gamma, accuracy over 3 folds", 16),
        ("iris", "8 x 4 cells of C and gamma, accuracy over 5 folds", 32),
        ("spambase_auc", "8 x 4 cells of C and gamma, roc_auc over 5 folds", 32),
        ("spambase_two_metrics", "8 x 4 cells of C and gamma, roc_auc and accuracy over 5 folds", 64),
    ],
)
def test_many_classes_and_other_metrics_have_equal_scores(name, described, n_scores, folder, capsys):
    X, y = two_blobs(90, 6)
    np.savez(folder / "spambase.npz", X=X, y=y)
    y[(X[:, 2] > 0.5) & (y == 1)] = 3
    for stored in ("satimage", "iris"):
        np.savez(folder / f"{stored}.npz", X=X, y=y)
    arguments = ["--problems", name, "--samples", "60", "--repeats", "1", "--n-jobs", "1"]
    (result,) = results(folder, *arguments, "--peers", "widemargin,sklearn")
    assert described in capsys.readouterr().out
    ours, theirs = result["lines"]
    assert len(ours["scores"]) == n_scores
    assert ours["largest"] < 0.02
    assert ours["mean"] < 0.005  # a sample whose decision value is 0 to the tolerance, in a few cells
    assert ours["best_score"] == pytest.approx(max(ours["scores"][:32]), abs=1e-12)
    assert ours["best"].keys() == theirs["best"].keys() == {"C", "gamma"}


def test_several_metrics_follow_each_other():
    class Searched:
        best_params_: ClassVar = {"C": 1}
        best_score_ = 0.9
        cv_results_: ClassVar = {
            "mean_test_auc": np.array([0.75, 0.85]),
            "split0_test_auc": np.array([0.7, 0.8]),
            "split1_test_auc": np.array([0.8, 0.9]),
            "split0_test_accuracy": np.array([0.1, 0.2]),
            "split1_test_accuracy": np.array([0.3, 0.4]),
        }

    assert selection(Searched()).scores.tolist() == [[0.7, 0.8], [0.8, 0.9], [0.1, 0.3], [0.2, 0.4]]


LIQUID = """
import numpy as np

asked = []


class mcSVM:
    def __init__(self, data, labs=None, mcType="AvA_hinge", **options):
        asked.append((labs, options))
        self.errSelect = np.zeros((options["folds"], 14))
        self.errSelect[:, 7] = np.linspace(0, 0.2, options["folds"])
"""


@pytest.fixture
def liquid(tmp_path, monkeypatch):
    """A module with the part of liquidSVM's interface that is used, installed."""
    (tmp_path / "liquidSVM.py").write_text(LIQUID)
    (tmp_path / "liquidSVM-1.0.dist-info").mkdir()
    (tmp_path / "liquidSVM-1.0.dist-info" / "METADATA").write_text("Name: liquidSVM\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "liquidSVM", raising=False)
    yield tmp_path
    sys.modules.pop("liquidSVM", None)


def test_liquidsvm_takes_part_where_it_works(liquid, folder, capsys):
    (result,) = results(folder, "--problems", "banana", "--samples", "60", "--repeats", "1", "--peers", "liquidsvm")
    assert "liquidsvm 1.0" in capsys.readouterr().out
    (line,) = result["lines"]
    assert (line["peer"], line["folds"], line["scores"], line["best"]) == ("liquidsvm", 5, None, {})
    assert line["best_score"] == pytest.approx(0.9)
    assert "liquidsvm" in choose_peers(SEARCHES["letter"], options())
    assert "liquidsvm" not in choose_peers(SEARCHES["spambase_auc"], options())
    assert "liquidsvm" not in choose_peers(PROBLEMS["banana"], options())
    (liquid / "liquidSVM.py").write_text("raise NameError('no library')")
    del sys.modules["liquidSVM"]
    assert installed(PEERS["liquidsvm"]) is None


def test_liquidsvm_is_asked_for_the_same_cells(liquid):
    X, y = two_blobs()
    settings = Settings({"plan": Plan(), "times": 1}, 1.0, 1e-3, 3, 200, "its own")
    found = LiquidSearch({"C": [0.25, 8], "gamma": [1e-6, 4.0]}, None, settings).fit(X, np.where(y == 1, 7, 5))
    assert found.best_score_ == pytest.approx(0.9)
    ((labels, asked),) = sys.modules["liquidSVM"].asked
    assert (asked["threads"], asked["folds"]) == (3, 5)
    assert asked["c_values"] == ["0.250000000000", "8.000000000000"]
    assert asked["gammas"] == ["1000.000000000000", "0.500000000000"]  # exp(-|x - y|^2 / width^2)
    assert np.array_equal(labels, np.where(y == 1, 2, 1))


def test_one_class_searches_agree(tmp_path, capsys):
    (result,) = results(tmp_path, "--problems", "one_class_500", "--samples", "60", "--repeats", "1", "--n-jobs", "1")
    assert "one_class_500 search: 60 x 21, 20 x 20 cells of nu and gamma" in capsys.readouterr().out
    lines = {one["peer"]: one for one in result["lines"]}
    assert list(lines) == ["widemargin", "sklearn"]
    for one in lines.values():
        assert one["best"].keys() == {"nu", "gamma"}
        assert -0.05 < one["best_score"] <= 0
        assert len(one["scores"]) == 400
        assert one["notes"] == []  # a search that trains every model alone says so
    assert lines["widemargin"]["mean"] < 0.002
    assert lines["widemargin"]["solved"] + lines["widemargin"]["repeated"] == 400


def test_every_peer_searches_the_stated_cells_on_the_stated_splits():
    X, y = two_blobs()
    split = Split(X, y, X[:0], y[:0])
    run = search_task(split, PEERS["sklearn"], Settings(WHOLE, 1.0, 1e-3, 1, 200, "in processes"))()
    first = search_task(split, PEERS["sklearn"], Settings(FIRST, 1.0, 1e-3, 1, 200, "in processes"))()
    assert run.product.scores.shape == (100, 5)
    assert np.array_equal(first.product.scores[:, 0], run.product.scores[:, 0])
    gamma = 1 / (2 * X.var())
    grid = classifier_grid(X, 1.0)
    assert grid["C"] == [0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128]
    assert np.allclose(grid["gamma"], gamma * 10 ** np.linspace(-2, 2, 10))
    train, test = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))[3]
    machine = SVC(C=8, gamma=grid["gamma"][6]).fit(X[train], y[train])
    assert run.product.scores[5 * 10 + 6, 3] == pytest.approx(machine.score(X[test], y[test]), abs=0.07)


def test_one_class_machines_are_trained_on_one_part_and_scored_on_the_other():
    X, _ = two_blobs(70)
    split = Split(X[:50], np.ones(50), X[50:], np.ones(20))
    run = one_class_task(split, PEERS["sklearn"], Settings({}, 1.0, 1e-3, 1, 200, "plain loop"))()
    grid = one_class_grid(X[:50], 1.0)
    assert (len(grid["nu"]), grid["nu"][0], grid["nu"][-1]) == (20, pytest.approx(0.01), pytest.approx(0.5))
    assert np.allclose(grid["gamma"], 10 ** np.linspace(-1, 1, 20) / (2 * X[:50].var()))
    assert run.product.scores.shape == (400, 1)
    machine = OneClassSVM(gamma=grid["gamma"][7], nu=grid["nu"][15]).fit(X[:50])
    rejected = np.mean(machine.predict(X[50:]) == -1)
    assert run.product.scores[7 * 20 + 15, 0] == pytest.approx(-abs(rejected - grid["nu"][15]), abs=0.06)
    assert run.product.best_score == run.product.scores.max()


def test_rejection_score_is_the_distance_from_nu():
    class Rejecting:
        nu = 0.1

        def predict(self, X):
            return np.where(np.arange(len(X)) < 3, -1, 1)

    assert rejection_score(Rejecting(), np.zeros((10, 1))) == pytest.approx(-0.2)


def test_differences_are_those_of_the_folds_both_have():
    ours = np.array([[0.5, 0.9], [0.7, 0.1]])
    theirs = np.array([[0.5], [0.6]])
    assert np.allclose(differences(ours, theirs), [0, 0.1])
    assert worst_differences([ours, ours + 0.2], theirs) == (pytest.approx(0.3), pytest.approx(0.25))
    assert worst_differences([None], theirs) == (None, None)
    assert worst_differences([ours], None) == (None, None)
    failed = worst_differences([np.array([[np.nan], [0.6]]), theirs], theirs)
    assert np.isnan(failed).all()


def our_line(**changes):
    usual = {"peer": "widemargin", "seconds": 1.0, "all_seconds": (1.0,), "folds": 5, "times": 1}
    return Line(**(usual | {"largest": 0.001, "mean": 0.0001} | changes))


@pytest.mark.parametrize(
    ("changes", "passed"),
    [
        ({}, True),
        ({"largest": 0.902 - 0.9, "mean": 0.0005}, True),  # a little more than 0.002
        ({"largest": 0.0021}, False),
        ({"mean": 0.0006}, False),
        ({"largest": np.nan, "mean": np.nan}, False),
        ({"largest": None, "mean": None}, None),
    ],
)
def test_judge_scores(changes, passed):
    assert judge_scores(our_line(**changes), options()).passed is passed
    assert judge_scores(our_line(**changes), options(samples=60)).passed is None
    assert judge_scores(None, options()).passed is None


def test_judge_all_knows_halving_and_unfinished_searches():
    others = (Line("sklearn", 30.0, (6.0,), 1, 5), Line("halving", 0.9, (0.9,), 5, 1))
    judged = judge_all(SEARCHES["ringnorm"], (our_line(), *others), options())
    assert [verdict.passed for verdict in judged.values()] == [True, False, True]
    assert "1 s, allowed 0.0357 x sklearn = 1.071 s" in judged["time"].reason
    judged = judge_all(SEARCHES["ringnorm"], (our_line(unfinished=3), *others), options())
    assert judged["time"].passed is False
    assert "3 models unfinished" in judged["time"].reason
    assert judge_all(SEARCHES["banana"], others[:1], options()).keys() == {"time", "scores"}
    assert judge_all(SEARCHES["banana"], others[:1], options())["time"].passed is None


def test_a_line_scales_the_median_and_keeps_failures():
    scores = np.array([[0.8], [0.9]])
    runs = [Run(seconds, Selection({"C": 1.0}, 0.9, scores), ("slow",)) for seconds in (3.0, 1.0, 2.0)]
    found = line("sklearn", Measurement(runs), Entry("sklearn", "in processes", FIRST), scores)
    assert found.seconds == 10.0
    assert found.all_seconds == (3.0, 1.0, 2.0)
    assert (found.largest, found.mean) == (0, 0)
    assert found.scores == (0.8, 0.9)
    assert found.notes == ("slow",)
    failed = line("sklearn", Measurement([], "not finished after 9 s"), Entry("sklearn", "in processes", WHOLE), None)
    assert failed.seconds is None
    assert failed.notes == ("not finished after 9 s",)


def test_table_has_a_line_per_peer_and_all_verdicts():
    lines = (
        our_line(best={"C": 8.0, "gamma": 0.05}, best_score=0.9123, solved=431, repeated=69),
        Line("sklearn", 30.0, (6.0,), 1, 5, best_score=0.91, notes=("a warning",)),
    )
    result = Result(
        "a9a search", "0.02 x sklearn", lines, {"time": Verdict(False, "late"), "scores": Verdict(True, "")}
    )
    header, ours, theirs, *below = result.table().splitlines()
    assert header.split()[:3] == ["peer", "seconds", "/"]
    assert "C = 8, gamma = 0.05" in ours
    assert "431 / 69" in ours
    assert "30.00" in theirs
    assert "1 x 5" in theirs
    assert below[0].startswith("sklearn: the first fold only")
    assert below[1] == "sklearn: a warning"
    assert below[2:] == ["time FAIL: late", "scores pass: "]
    assert list(result.verdicts()) == ["a9a search, time", "a9a search, scores"]


def test_the_bars_are_the_stated_ones():
    shares = {name: problem.bar for name, problem in SEARCHES.items()}
    stated = {"banana": 17, "splice": 55, "spambase": 45, "ringnorm": 28, "a9a": 50}
    stated |= {"letter": 5, "pendigits": 8, "satimage": 10, "usps": 12, "iris": 6}
    stated |= {"spambase_auc": 25, "spambase_two_metrics": 20}
    stated |= {f"one_class_{rows}": 10 for rows in (500, 1_000, 2_000)}
    assert shares == {name: Bar(1 / share, ("sklearn",)) for name, share in stated.items()}
    for name, problem in SEARCHES.items():
        assert problem.entry("widemargin").parameters["times"] == 1
        assert ("halving" in problem.entries) == (name in ("spambase", "ringnorm"))
        assert KNOWN[problem.name] is problem
        assert all(entry.estimator in KINDS for entry in problem.entries.values())
    assert not {problem.name for problem in SEARCHES.values()} & set(PROBLEMS)


def test_searches_have_the_first_rows_of_the_fits(folder):
    whole, some = PROBLEMS["banana"].load(folder), SEARCHES["banana"].load(folder)
    assert np.array_equal(whole.X[:1_000], some.X)
    assert SEARCHES["banana"].load(folder, samples=30).X.shape == (30, 2)
    X, y = two_blobs(n_features=20)
    assert np.array_equal(SEARCHES["ringnorm"].load(folder).X, X[np.random.default_rng(1).permutation(len(y))])
    rows = SEARCHES["one_class_1000"].load(None)
    assert (rows.X.shape, rows.X_test.shape) == ((1_000, 21), (500, 21))


def test_the_command_knows_its_peers_and_limits(capsys):
    assert set(COMMANDS["search"].peers) == {"widemargin", "sklearn", "intelex", "halving", "liquidsvm"}
    assert choose_peers(SEARCHES["banana"], options(peers=("widemargin", "halving"))) == ["widemargin"]
    for bad in (["--peers", "libsvm"], ["--problems", "shuttle"]):
        with pytest.raises(SystemExit):
            main(["search", *bad])
        assert bad[0] in capsys.readouterr().err
