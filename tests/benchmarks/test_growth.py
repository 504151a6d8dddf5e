import time

import numpy as np
import pytest

from benchmarks.growth import draw_picture, jobs, main, measure, over, slope, table, two_classes

SIZES = (10, 20, 40, 80)


@pytest.mark.parametrize("power", [0.0, 1.0, 2.5])
def test_slope_is_the_power_that_times_grow_with(power):
    assert slope(SIZES, [1e-3 * size**power for size in SIZES]) == pytest.approx(power, abs=1e-9)


def test_slope_is_that_of_the_upper_half_of_what_was_measured():
    assert slope(SIZES, [9.0, 9.0, 1.0, 4.0]) == pytest.approx(2)
    assert slope(SIZES, [9.0, 1.0, 4.0, None]) == pytest.approx(2)
    assert slope(SIZES, [1.0, None, None, None]) is None
    assert slope(SIZES, [None] * 4) is None


def test_a_line_ends_after_a_run_past_the_limit():
    calls = {"quick": [], "slow": []}

    def quick(X, y):
        calls["quick"].append(X)

    def slow(X, y):
        calls["slow"].append(X)
        time.sleep(0.01 * X)

    seconds = measure(SIZES[:3], lambda size: (size, None), {"quick": quick, "slow": slow}, 2, limit=0.15)
    assert calls["quick"] == [10, 10, 20, 20, 40, 40]
    assert calls["slow"] == [10, 20]  # one run each: longer than half of the limit; the second ends the line
    assert all(value is not None for value in seconds["quick"])
    assert seconds["slow"][1] > 0.15
    assert seconds["slow"][2] is None


def test_over_knows_unfinished_and_ended_lines():
    assert not over([], 1.0)
    assert not over([0.9], 1.0)
    assert over([0.1, 1.1], 1.0)
    assert over([1.1, None], 1.0)


@pytest.mark.parametrize("d", [2, 100])
def test_classes_are_about_as_large_and_as_hard_for_any_number_of_features(d):
    X, y = two_classes(4_000, d)
    assert X.shape == (4_000, d)
    assert 0.3 < y.mean() < 0.7
    inside = (X**2).sum(axis=1) <= 1
    assert 0.05 < np.mean(inside == y) < 0.25
    assert np.array_equal(two_classes(4_000, d)[0], X)


def test_every_job_trains():
    X, y = two_classes(60, 3)
    for name, job in jobs(1).items():
        assert job(X, y).score(X, y) > 0.5, name


def test_table_has_a_line_per_size_and_the_slopes():
    lines = table("samples", (1_000, 2_000), {"a": [1.0, 2.0], "b": [1.0, None]}).splitlines()
    assert lines[0].split() == ["samples", "a", "b"]
    assert lines[2].split() == ["2,000", "2", "-"]
    assert lines[3].split() == ["slope", "-", "-"]


def test_the_program_measures_and_draws(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "growth.png"
    sizes = ["--samples", "40", "80", "160", "320", "--features", "2", "4", "8", "16"]
    main([*sizes, "--repeats", "1", "--n-jobs", "1", "--limit", "20", "--picture", str(picture)])
    printed = capsys.readouterr().out
    assert "samples" in printed
    assert "features" in printed
    assert printed.count("slope") == 2
    assert picture.stat().st_size > 1_000


def test_a_line_without_a_slope_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    seconds = {"fit, widemargin": [1.0, 2.0, 4.0, 8.0], "fit, scikit-learn": [1.0, None, None, None]}
    draw_picture(tmp_path / "growth.png", {"samples": (SIZES, seconds)})
    assert (tmp_path / "growth.png").exists()
