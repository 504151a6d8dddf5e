"""Kept points say what they said before, switches and all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin.study.points import TOGETHER, Points


@given(st.data(), st.integers(1, 3 * TOGETHER))
def test_points_come_back_whole(data: st.DataObject, n_dims: int) -> None:
    switches = np.array(data.draw(st.lists(st.booleans(), min_size=n_dims, max_size=n_dims)))
    numbers = st.floats(allow_nan=False)
    drawn = [data.draw(st.sampled_from([0.0, 1.0]) if one else numbers) for one in switches]
    point, points = np.array(drawn), Points(switches)
    kept = points.packed(point)
    assert kept.shape == (points.n_dims,)
    np.testing.assert_array_equal(points.whole(kept), point)
    for place in range(n_dims):
        assert points.column(kept[np.newaxis], place).tolist() == [point[place]]


@pytest.mark.parametrize(
    ("n_switches", "n_others", "numbers"), [(0, 3, 3), (1, 0, 1), (48, 0, 1), (49, 2, 4), (7000, 3, 149)]
)
def test_forty_eight_switches_are_a_number(n_switches: int, n_others: int, numbers: int) -> None:
    assert Points(np.arange(n_switches + n_others) < n_switches).n_dims == numbers


def test_points_that_differ_are_kept_apart() -> None:
    points = Points(np.ones(100, dtype=np.bool_))
    kept = {points.packed(one).tobytes() for one in np.eye(100)}
    assert len(kept) == 100
