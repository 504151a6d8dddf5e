"""Quality of models on prototypes: beside its naive twin, and the same whatever was computed before."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from oracles.compact import judged, simplified
from widemargin.kernels import MaskedGaussian
from widemargin.objectives import Task, prototype_quality
from widemargin.objectives.base import Place
from widemargin.objectives.decision_quality import DecisionQuality
from widemargin.objectives.prototype_quality import PrototypeQuality, Prototypes
from widemargin.runtime import Stop, StoppedError

OBJECTIVE = DecisionQuality(sv_penalty=0.02, feature_penalty=0.03, feature_costs=[1.0, 2.0, 3.0, 4.0, 5.0])
D = 5


class Problem(NamedTuple):
    X: Any
    signs: Any
    train: Any
    judges: Any


def problem(n: int = 240, *, share: float = 0.4) -> Problem:
    """Two classes of different sizes in float32, half of the numbers zero."""
    generator = np.random.default_rng(4)
    X = generator.normal(size=(n, D)) * (generator.random((n, D)) < 0.5)
    X = X.astype(np.float32).astype(np.float64)
    signs = np.where(X @ generator.normal(size=D) + 0.5 * generator.normal(size=n) > np.quantile(X, 1 - share), 1.0, -1)
    order = generator.permutation(n)
    return Problem(X, signs, np.sort(order[: 2 * n // 3]), np.sort(order[2 * n // 3 :]))


def bound(
    given: Problem, *, sparse: bool = False, select: bool = True, n_threads: int = 1, tolerance: float = 1e-9
) -> PrototypeQuality:
    X: Any = given.X.astype(np.float32)
    X = sp.csr_array(X) if sparse else X
    stop = Stop()
    prototypes = Prototypes(X, given.signs, given.train, given.judges, n_threads, stop)
    labels = (given.signs > 0).astype(np.intp)
    task = Task(X, labels, 2, np.ones(len(labels)), tolerance=tolerance, n_threads=n_threads, stop=stop)
    return PrototypeQuality(task, OBJECTIVE, prototypes, select_features=select)


def mask(*features: int) -> Any:
    return np.isin(np.arange(D), features)


def place(features: Any, level: int, C: float = 2.0, sigma: float = 2.0) -> Place:
    return Place(MaskedGaussian(features, sigma**-2.0), C, level)


def evaluated(own: PrototypeQuality, where: Place, origin: Place | None = None) -> Any:
    how: Any = {"level": where.level} | ({} if origin is None else {"origin": origin})
    return own.evaluate(where.kernel, where.C, gradient=False, **how)


#: Points, and neighbours that searches come from: none, another C, a feature more and less, another level.
MOVES = [
    (place(mask(0, 1, 2, 3, 4), 0), None),
    (place(mask(0, 1, 2, 3, 4), 3), place(mask(0, 1, 2, 3, 4), 3, C=1.0)),
    (place(mask(0, 2, 3), 3, C=8.0, sigma=1.0), place(mask(0, 2), 3, C=8.0, sigma=1.0)),
    (place(mask(0, 3), 4, sigma=1.0), place(mask(0, 3, 4), 4, sigma=1.0)),
    (place(mask(1, 4), 5, C=0.5), place(mask(1, 4), 4, C=0.5)),
    (place(mask(0, 1, 2, 3), 7, C=1.0), place(mask(0, 1, 2, 3, 4), 7, C=1.0)),
]


WAYS = ["kept", "anew", "row by row"]


@pytest.fixture(params=[*WAYS, *(f"{one}, from the origin" for one in WAYS)])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if "anew" in request.param:
        monkeypatch.setattr(Prototypes, "fits", lambda *_: False)
    if "row by row" in request.param:
        monkeypatch.setattr(prototype_quality, "MOST_DISTANCES", 0)
    if "origin" in request.param:
        monkeypatch.setattr(prototype_quality, "FEW", 0)
    return str(request.param)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("where", "origin"), MOVES)
def test_equals_its_naive_twin(where: Place, origin: Place | None, sparse: bool, way: str) -> None:
    given = problem()
    own = bound(given, sparse=sparse)
    kernel: Any = where.kernel
    assert where.level is not None
    meant = judged(
        given.X, given.signs, (given.train, given.judges), kernel.features, where.level, where.C, kernel.gamma**-0.5
    )
    values = own.values(where, own.train(where, origin), origin)
    np.testing.assert_allclose(values, meant.values, atol=2e-4 * where.C)
    assert np.abs(meant.values).min() > 2e-4  # so that no sample is a matter of rounding
    found = evaluated(own, where, origin)
    costs = np.array([1.0, 2.0, 3.0, 4.0, 5.0]) / 3.0
    cost = float(costs[kernel.features].sum())
    assert found.measures == {
        "recognition_rate": pytest.approx(meant.rate),
        "support_vectors": meant.n_support,
        "feature_cost": pytest.approx(cost),
    }
    assert found.value == pytest.approx(meant.rate - 0.02 * math.log2(meant.n_support) - 0.03 * math.log2(cost))
    assert found.notes == ()


def test_levels_are_prototypes_of_each_class() -> None:
    given = problem()
    own = bound(given).prototypes
    sizes = [np.count_nonzero(given.signs[given.train] == sign) for sign in (-1.0, 1.0)]
    assert own.highest_level == math.ceil(math.log2(max(sizes)))
    for number in range(own.highest_level + 1):
        samples, signs = own.level(number)
        meant, theirs = simplified(given.X[given.train], given.signs[given.train], number)
        np.testing.assert_array_equal(signs, theirs)
        np.testing.assert_allclose(samples, meant, atol=1e-6)
    assert len(own.level(own.highest_level).signs) == len(given.train)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_value_depends_on_its_point_and_origin_only(sparse: bool, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def both(own: PrototypeQuality, where: Place, origin: Place | None) -> tuple[Any, bytes]:
        found = evaluated(own, where, origin)
        values = own.values(where, own.train(where, origin), origin)
        return (found.value, found.measures), values.tobytes()

    given = problem()
    alone = [both(bound(given, sparse=sparse, tolerance=1e-3), *move) for move in MOVES]
    # So little is kept that most of it is computed again and again.
    monkeypatch.setattr(prototype_quality, "MOST_KEPT", 4000)
    own = bound(given, sparse=sparse, tolerance=1e-3)
    for number in np.random.default_rng(0).integers(len(MOVES), size=40).tolist():
        assert both(own, *MOVES[number]) == alone[number]


def test_threads_make_no_difference(way: str) -> None:
    given = problem()
    few = bound(given, tolerance=1e-3)
    for n_threads in (2, 3):
        many = bound(given, n_threads=n_threads, tolerance=1e-3)
        for own in (many, many.with_threads(1)):
            for where, origin in MOVES:
                np.testing.assert_array_equal(
                    own.values(where, own.train(where, origin), origin),
                    few.values(where, few.train(where, origin), origin),
                )
    assert many.with_threads(1).task.n_threads == 1
    assert many.with_threads(1).prototypes is many.prototypes


def test_what_distances_lose_by_subtraction_is_computed_anew() -> None:
    """A narrow kernel over a feature that is left when one of far larger differences goes."""
    given = problem()
    X = given.X * np.array([1.0, 1.0, 1.0, 1.0, 1e4])
    given = given._replace(X=X.astype(np.float32).astype(np.float64))
    where, origin = (place(features, 3, sigma=0.5) for features in (mask(0, 1), mask(0, 1, 4)))
    own = bound(given)
    np.testing.assert_array_equal(
        own.values(where, own.train(where, origin), origin), own.values(where, own.train(where))
    )


def test_models_without_features_have_no_quality() -> None:
    found = evaluated(bound(problem()), place(mask(), 2))
    assert math.isnan(found.value)
    assert found.notes == ("a model without features has no quality",)


def test_features_cost_only_where_they_are_selected() -> None:
    given = problem()
    selecting, others = (evaluated(bound(given, select=select), MOVES[0][0]) for select in (True, False))
    assert "feature_cost" not in others.measures
    assert others.value - selecting.value == pytest.approx(0.03 * math.log2(5.0))


def test_samples_far_from_all_prototypes_are_not_recognised() -> None:
    given = problem()
    X = given.X.copy()
    X[given.judges] += 1e6
    own = bound(given._replace(X=X))
    # As many samples are of one side as of the other: an intercept would be right about half of the classes.
    where = place(mask(0, 1, 2, 3, 4), 0)
    assert np.ptp(own.values(where, own.train(where))) == 0.0
    found = evaluated(own, where)
    assert abs(own.values(where, own.train(where))[0]) < 1e-6
    assert found.measures["recognition_rate"] == 0.0


def test_ends_when_it_is_asked_to() -> None:
    own = bound(problem())
    own.task.stop.request()
    with pytest.raises(StoppedError):
        evaluated(own, MOVES[0][0])
    late = bound(problem())
    late.task = replace(late.task, stop=Stop().within(-1.0))
    with pytest.raises(StoppedError):
        evaluated(late, MOVES[0][0])
