import numpy as np
import pytest

from benchmarks.papers.__main__ import main
from benchmarks.papers.glasmachers import glasmachers_figure_9_1 as objectives
from benchmarks.papers.glasmachers import glasmachers_figure_10_1 as families
from widemargin import SVC
from widemargin.kernels import GeneralGaussian


def test_figure_9_1_short_and_drawn(tmp_path, capsys):
    picture = tmp_path / "surfaces.png"
    options = ["--points", "4", "--draws", "2", "--n-jobs", "1", "--picture", str(picture)]
    main(["glasmachers_figure_9_1", *options])
    printed = capsys.readouterr().out
    assert "4 x 4 points, 2 draws" in printed
    assert "pass: span bound not below leave-one-out" in printed
    assert "pass: support vectors not below span bound" in printed
    assert picture.stat().st_size > 10_000


def test_figure_9_1_values_are_those_of_their_definitions():
    grid = objectives.Grid(np.array([1.0, 100.0]), np.array([2.0]))
    [_, found] = objectives.column(grid, 0, draws=2)
    values = dict(zip(objectives.NAMES, found, strict=True))
    assert 0.05 < values["test error"] < 0.2
    for name in ("cross-validation", "leave-one-out"):
        assert values[name] * objectives.TRAINING_ROWS == pytest.approx(round(values[name] * objectives.TRAINING_ROWS))
    assert 80 * values["bootstrap"] == pytest.approx(round(80 * values["bootstrap"]))
    assert 0.0 < values["likelihood"] < np.log(2)


def test_figure_9_1_verdicts_can_fail():
    rising = np.linspace(0.1, 0.5, 9).reshape(3, 3)
    good = dict.fromkeys(objectives.NAMES, rising)
    assert objectives.verdicts(good).count("pass") == 6
    text = objectives.verdicts(good | {"span bound": rising - 0.01})
    assert "FAIL: span bound not below leave-one-out" in text
    text = objectives.verdicts(good | {"bootstrap": rising[::-1, ::-1]})
    assert "FAIL: minimum of bootstrap 0.4000 above" in text
    assert "FAIL: bootstrap goes with test error" in text


def test_figure_9_1_table_tells_the_test_error_at_the_minimum():
    errors = np.array([[0.4, 0.3], [0.2, 0.1]])
    grid = objectives.Grid(np.array([1.0, 10.0]), np.array([0.5, 5.0]))
    lines = objectives.table(grid, {"bootstrap": np.array([[0.4, 0.2], [0.3, 0.3]]), "test error": errors})
    assert lines.splitlines()[1].split()[:5] == ["bootstrap", "0.2000", "1", "5", "0.3000"]


def test_figure_10_1_short_and_drawn(tmp_path, capsys):
    picture = tmp_path / "families.png"
    options = ["--trials", "1", "--iterations", "12", "--n-jobs", "1", "--picture", str(picture)]
    main(["glasmachers_figure_10_1", *options])
    printed = capsys.readouterr().out
    for statement in ("D ends with the lowest", "the quotient falls", "support vectors increase", "all models have"):
        assert f"pass: {statement}" in printed
    assert "not judged with less than 20 trials" in printed
    assert picture.stat().st_size > 10_000


def test_figure_10_1_samples_are_stretched_boards():
    sample = families.draw_sample(3)
    scales = np.linalg.svd(sample.X_test - sample.X_test.mean(axis=0), compute_uv=False)
    assert scales[0] / scales[1] == pytest.approx(9.0, rel=0.05)
    assert 5 * families.start_width(sample, "nearest") < families.start_width(sample, "pairs")


def test_figure_10_1_machines_are_those_of_a_hard_margin():
    sample, course = families.draw_sample(0), families.follow("A", 0, iterations=1)
    kernel = GeneralGaussian(np.eye(2) / families.start_width(sample, "nearest"))
    machine = SVC(C=np.inf, kernel=kernel, tol=1e-6).fit(sample.X, sample.y)
    assert course.error[0] == pytest.approx(1 - machine.score(sample.X_test, sample.y_test), abs=1e-3)
    assert course.support[0] == pytest.approx(machine.n_support_.sum() / len(sample.y), abs=0.01)


def test_figure_10_1_says_where_margins_are_not_hard():
    course = families.follow("B", 0, iterations=2, start="pairs")
    assert course.margin.min() < 0
    assert "FAIL: all models have a hard margin" in families.verdicts({case: [course] for case in "ABCDE"})


def test_figure_10_1_verdicts_can_fail():
    def course(error, quotient=(2.0, 1.0), support=(0.3, 0.9)):
        first = np.array([0.2, error])
        return families.Course(np.array(quotient), np.array(support), first, np.ones(2))

    steps = 1e-4 * np.arange(families.TRIALS)
    good = {case: [course(0.1 + step + 0.1 * (case != "D")) for step in steps] for case in "ABCDE"}
    assert families.verdicts(good).count("pass") == 5
    assert "FAIL: D ends with the lowest test error (lowest: B)" in families.verdicts(good | {"B": [course(0.05)]})
    assert "FAIL: significantly" in families.verdicts(good | {"E": good["D"]})
    assert "FAIL: the quotient falls" in families.verdicts(good | {"A": [course(0.3, quotient=(1.0, 2.0))]})
    assert "FAIL: support vectors" in families.verdicts(good | {"C": [course(0.3, support=(0.3, 0.2))]})
