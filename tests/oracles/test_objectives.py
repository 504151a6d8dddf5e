"""Of points with a closest pair, no other pair is as close."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.objectives import points_with_a_closest_pair


@pytest.mark.parametrize("seed", range(5))
def test_one_pair_is_the_closest(seed):
    X, (p, q), squared = points_with_a_closest_pair(8, 3, seed=seed)
    distances = np.square(X[:, np.newaxis] - X).sum(axis=2)[np.triu_indices(8, 1)]
    assert squared == pytest.approx(distances.min())
    assert squared == pytest.approx(np.square(X[p] - X[q]).sum())
    assert np.sort(distances)[1] * 0.8 >= squared
    assert p < q
