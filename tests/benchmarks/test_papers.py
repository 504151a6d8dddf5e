import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.papers import barbero_table_2
from benchmarks.papers.__main__ import main
from benchmarks.papers.data import as_stored
from benchmarks.papers.glasmachers import (
    glasmachers_figure_7_4,
    glasmachers_section_11_4,
    glasmachers_table_6_3,
    glasmachers_table_7_2,
)
from benchmarks.papers.glasmachers.glasmachers_table_7_2 import Outcome, significantly_positive
from benchmarks.papers.glasmachers.selections import SELECTIONS, Counts, evaluations_ratio
from benchmarks.papers.timm import kernel_reuse, timm_figure_1


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


def test_figure_7_4_on_a_few_rows(tmp_path, capsys):
    save_blobs(tmp_path, "heart")
    main(["glasmachers_figure_7_4", "--datasets", "heart,banana", "--data", str(tmp_path), "--permutations", "2"])
    printed = capsys.readouterr().out
    assert "banana: skipped. The data folder" in printed
    assert printed.count("N = 20") == 2
    assert "fewest iterations with" in printed
    with pytest.raises(SystemExit, match="no data set 'hearts'"):
        main(["glasmachers_figure_7_4", "--datasets", "hearts"])


def test_figure_7_4_verdict_follows_the_numbers():
    def course(*seconds):
        return {n: (1000.0 * s, s) for n, s in zip(glasmachers_figure_7_4.WORKING_SETS, seconds, strict=True)}

    as_in_thesis = glasmachers_figure_7_4.verdict({"x": course(1, 0.98, 0.95, 1.05, 1.2, 1.5)})
    assert "least time with 3" in as_in_thesis
    assert as_in_thesis.count(": yes (thesis: yes)") == 2
    other = glasmachers_figure_7_4.verdict({"x": course(1, 1.1, 0.9, 0.8, 0.7, 0.6)})
    assert "fewest iterations with 20 working sets, least time with 20" in other
    assert other.count(": no (thesis: yes)") == 2


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


def save_blobs(folder, name, n=80):
    random = np.random.default_rng(0)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    np.savez(folder / f"raetsch_{name}.npz", X=random.normal(size=(n, 4)) + 0.7 * y[:, None], y=y)


def test_barbero_table_2_counts_two_rows_a_step(tmp_path, capsys):
    for name in ("heart", "german"):
        save_blobs(tmp_path, name)
    main(["barbero_table_2", "--data", str(tmp_path), "--folds", "2", "--datasets", "heart,german,thyroid"])
    printed = capsys.readouterr().out
    assert "mean over 2 training parts" in printed
    assert "thyroid: skipped. The data folder" in printed
    assert "heart (HD)" in printed
    assert "4,549,640" in printed
    data = as_stored("raetsch_heart")(tmp_path)
    counts = barbero_table_2.measure(barbero_table_2.EXPERIMENTS["heart"], data, repeats=1, folds=2)
    assert counts.operations[0] == pytest.approx(2 * 72 * counts.iterations[0])
    assert counts.operations[1] <= 2 * 72 * counts.iterations[1]
    assert counts.disagreement < 1e-4
    assert counts.ended_early == 0


def test_barbero_training_parts_leave_every_row_out_once():
    parts = list(barbero_table_2.training_parts(25, repeats=2, folds=10))
    assert len(parts) == 20
    for repeat in (parts[:10], parts[10:]):
        left_out = np.concatenate([np.setdiff1d(np.arange(25), rows) for rows in repeat])
        assert sorted(left_out) == list(range(25))


def test_barbero_verdict_can_fail():
    def counts(operations, ended_early=0):
        return barbero_table_2.Counts(operations, (2.0, 1.0), 1e-7, ended_early)

    good = {name: counts((100.0, 40.0)) for name in barbero_table_2.EXPERIMENTS}
    verdict = barbero_table_2.verdict
    assert verdict(good).startswith("pass")
    assert verdict({"heart": good["heart"]}).startswith("not judged")
    assert verdict({}).startswith("not judged")
    assert "german saves 45.0%" in verdict(good | {"german": counts((100.0, 55.0))})
    assert "splice loses 2.5%" in verdict(good | {"splice": counts((100.0, 102.5))})
    assert verdict(good | {"splice": counts((100.0, 101.5))}).startswith("pass")
    assert "heart: 3 runs ended early" in verdict(good | {"heart": counts((100.0, 40.0), 3)})


@pytest.mark.parametrize("bad", [["--folds", "11"], ["--repeats", "0"], ["--datasets", "hearts"]])
def test_barbero_refuses_what_makes_no_sense(bad):
    with pytest.raises(SystemExit, match=r"must be at least|no data set 'hearts'"):
        main(["barbero_table_2", *bad])


@pytest.fixture
def banana_folder(tmp_path):
    random = np.random.default_rng(0)
    angle = random.uniform(0, np.pi, size=400)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.1 * random.normal(size=(400, 2))
    np.savez(tmp_path / "raetsch_banana.npz", X=X, y=np.where(np.arange(400) < 120, 1, -1))
    return tmp_path


def test_timm_figure_1_reaches_its_gap_and_is_drawn(banana_folder, capsys):
    picture = banana_folder / "gap.png"
    main(["timm_figure_1", "--data", str(banana_folder), "--plot", str(picture)])
    printed = capsys.readouterr().out
    assert "120 samples, C = 1000, sigma = 0.4" in printed
    assert "pass: gap" in printed
    assert picture.stat().st_size > 10_000


def test_timm_gaps_are_those_of_the_definition(banana_folder):
    X = timm_figure_1.samples(banana_folder)
    course = timm_figure_1.follow(X, max_iterations=150)
    assert course.iterations == len(course.gaps) == 150
    assert timm_figure_1.verdict(course).startswith("FAIL (iteration budget)")
    assert "t^-" in timm_figure_1.decline(course)
    alpha, C = course.alpha, timm_figure_1.C
    K = rbf_kernel(X, gamma=timm_figure_1.GAMMA)
    slack = np.maximum(0, 1 - K @ alpha)
    primal = (alpha @ K @ alpha + C * slack @ slack) / 2
    dual = alpha.sum() - (alpha @ K @ alpha + alpha @ alpha / C) / 2
    assert course.gaps[-1] == pytest.approx((primal - dual) / (primal + 1), rel=1e-3)
    values = timm_figure_1.decision_values(X, alpha, X)
    assert values == pytest.approx(K @ alpha - 1, abs=1e-9)


def test_timm_table_shows_powers_of_ten_and_the_end():
    def rows(iterations):
        course = timm_figure_1.Course(1 / np.arange(1.0, iterations + 1), np.ones(1), iterations, "converged")
        return [line.split() for line in timm_figure_1.table(course).splitlines()[1:]]

    assert rows(250) == [["1", "1"], ["10", "0.1"], ["100", "0.01"], ["250", "0.004"]]
    assert rows(100) == [["1", "1"], ["10", "0.1"], ["100", "0.01"]]


def test_timm_transform_measures_what_it_finds(banana_folder, capsys, monkeypatch):
    monkeypatch.setattr(kernel_reuse, "N_ROWS", 60)
    kernel_reuse.run(banana_folder, n_rows=60)
    printed = capsys.readouterr().out
    assert "splice: skipped. The data folder" in printed
    assert "banana, d = 2:" in printed
    assert "twonorm, d = 20:" in printed
    assert printed.count("narrower") == printed.count("wider") == 2


def test_timm_transform_verdict_depends_on_both_directions():
    assert "pays against rows computed by row, does not pay" in kernel_reuse.verdict("x", 5, [(1, 2, 2), (1, 2, 0.5)])


def test_timm_figure_1_says_what_is_missing(tmp_path, capsys):
    main(["timm_figure_1", "--data", str(tmp_path)])
    assert "banana: skipped. The data folder" in capsys.readouterr().out


def test_section_11_4_short_and_drawn(tmp_path, capsys):
    figure = tmp_path / "noise.png"
    main(["glasmachers_section_11_4", "--evaluations", "2000", "--trials", "3", "--plot", str(figure)])
    printed = capsys.readouterr().out
    assert "2,000" in printed
    assert "f1: pass" in printed
    assert "f3: FAIL" in printed
    assert figure.stat().st_size > 10_000


def test_section_11_4_verdicts_depend_on_the_worst_trial():
    evaluations = np.array([1, 10, 100, 1000])
    distances = np.broadcast_to(1 / evaluations[:, None, None], (4, 4, 2)).copy()
    course = glasmachers_section_11_4.Course(evaluations, distances, distances.copy(), np.zeros((4, 2)))
    assert glasmachers_section_11_4.verdicts(course).count("pass") == 4
    assert "falls about as t^-1.00" in glasmachers_section_11_4.verdicts(course)
    course.chosen[-1, 3, 1] = 0.021
    assert "f4: FAIL, largest distance 0.021, allowed 0.02" in glasmachers_section_11_4.verdicts(course)
