import numpy as np
import pytest

from benchmarks.peers.quantize import Line, Result, compare, middle


def test_both_are_given_about_as_many_distances():
    X = np.random.default_rng(0).normal(size=(2000, 5)).astype(np.float32)
    found = compare("some", X, repeats=2, level=5)
    assert 0.5 * found.ours.evaluations < found.theirs.evaluations <= found.ours.evaluations
    assert found.ours.distortion == pytest.approx(found.theirs.distortion, rel=0.1)
    assert "KMeans, random start" in found.table()


@pytest.mark.parametrize(("seconds", "passed"), [(1.4, True), (1.6, False)])
def test_the_time_of_a_distance_is_judged(seconds, passed):
    theirs = Line("KMeans", 2.0, 2000, 1.0)
    verdict = Result("some", Line("ours", seconds, 1000, 1.0), theirs).verdicts()["some"]
    assert verdict.passed == passed


def test_medians_are_of_times_of_a_distance():
    lines = [Line("one", 1.0, 1000, 3.0), Line("one", 4.0, 2000, 1.0), Line("one", 9.0, 3000, 2.0)]
    assert middle(lines) == Line("one", pytest.approx(4.0), 2000, 2.0)
