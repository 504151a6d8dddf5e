"""What holds for any stream: found by looking for one for which it does not."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from widemargin import OnlineSVC

SELECTIONS = st.sampled_from(["second-order", "maximal-violating-pair"])


def exact(A: Any, B: Any) -> Any:
    """A kernel whose values do not depend on what else is asked for, to the last bit."""
    return np.exp(-0.3 * np.abs(np.asarray(A)[:, np.newaxis] - np.asarray(B))).prod(axis=2)


@st.composite
def streams(draw: st.DrawFn, classes: int = 2) -> tuple[Any, Any, list[slice]]:
    """Return samples, classes that overlap, and the batches in which they come."""
    n, random = draw(st.integers(2, 120)), np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = random.integers(0, classes, n)
    X = random.normal(size=(n, 3))
    X[np.arange(n), y % 3] += draw(st.sampled_from([0.0, 1.0, 5.0]))
    cuts = sorted({0, n, *draw(st.lists(st.integers(1, n - 1), max_size=6))})
    return X, y, [slice(*ends) for ends in pairwise(cuts)]


def learnt(
    X: Any, y: Any, batches: list[slice], classes: int = 2, weights: Any = None, ids: Any = None, **how: Any
) -> OnlineSVC:
    model = OnlineSVC(**{"C": 5.0, "kernel": exact, **how})
    for own in batches:
        given = {"sample_weight": None if weights is None else weights[own], "ids": None if ids is None else ids[own]}
        model.partial_fit(X[own], y[own], classes=np.arange(classes), **given)
    return model


@settings(max_examples=60, deadline=None)
@given(stream=streams(), selection=SELECTIONS, kernel=st.sampled_from([exact, "rbf", "linear"]))
def test_any_batches_lead_to_a_solution_on_what_is_kept(stream: Any, selection: str, kernel: Any) -> None:
    # Which samples are kept may differ: steps depend on which of two coefficients is 0 but for rounding.
    X, y, batches = stream
    model = learnt(X, y, batches, kernel=kernel, selection=selection)
    assert model.n_seen_ == len(y)
    assert model.kept_ids_.tolist() == sorted(set(model.kept_ids_.tolist()))
    assert abs(model.dual_coef_.sum()) < 1e-9
    assert np.abs(model.dual_coef_).max(initial=0.0) <= 5.0
    gap = model.gap_
    model.finish()
    assert model.fit_report_.converged
    assert model.gap_ <= max(gap, 1e-3 * abs(model.fit_report_[0].objective)) + 1e-9


@settings(max_examples=40, deadline=None)
@given(stream=streams(), selection=SELECTIONS, kernel=st.sampled_from([exact, "rbf", "linear"]), data=st.data())
def test_names_of_samples_do_not_matter(stream: Any, selection: str, kernel: Any, data: Any) -> None:
    X, y, batches = stream
    names = np.array(data.draw(st.permutations(range(1000, 1000 + len(y)))))
    plain = learnt(X, y, batches, kernel=kernel, selection=selection)
    named = learnt(X, y, batches, kernel=kernel, selection=selection, ids=names)
    assert named.kept_ids_.tolist() == names[plain.kept_ids_].tolist()
    assert (named.dual_coef_ == plain.dual_coef_).all()
    assert (named.decision_function(X) == plain.decision_function(X)).all()


@settings(max_examples=40, deadline=None)
@given(stream=streams(), selection=SELECTIONS, data=st.data())
def test_samples_of_weight_0_are_absent(stream: Any, selection: str, data: Any) -> None:
    X, y, batches = stream
    weights = np.array(data.draw(st.lists(st.sampled_from([0.0, 1.0, 2.5]), min_size=len(y), max_size=len(y))))
    weighted = learnt(X, y, batches, weights=weights, selection=selection)
    model = OnlineSVC(C=5.0, kernel=exact, selection=selection)
    for own in batches:
        some = np.arange(own.start, own.stop)[weights[own] > 0]
        if len(some):
            model.partial_fit(X[some], y[some], classes=[0, 1], sample_weight=weights[some], ids=some)
    assert weighted.n_seen_ == np.count_nonzero(weights)
    if weights.any():
        assert weighted.kept_ids_.tolist() == model.kept_ids_.tolist()
        assert (weighted.dual_coef_ == model.dual_coef_).all()


@settings(max_examples=40, deadline=None)
@given(stream=streams(), kernel=st.sampled_from([exact, "rbf"]))
def test_two_classes_that_change_places_turn_the_signs(stream: Any, kernel: Any) -> None:
    # By the steepest slope both elements of a pair are found alike.
    X, y, batches = stream
    one, other = (
        learnt(X, labels, batches, kernel=kernel, selection="maximal-violating-pair") for labels in (y, 1 - y)
    )
    assert other.decision_function(X) == pytest.approx(-one.decision_function(X), rel=1e-9, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(stream=streams(classes=4), selection=SELECTIONS, order=st.permutations(range(4)))
def test_names_of_classes_do_not_matter(stream: Any, selection: str, order: list[int]) -> None:
    X, y, batches = stream
    one = learnt(X, y, batches, 4, selection=selection)
    other = learnt(X, np.array(order)[y], batches, 4, selection=selection)
    assert (other.kept_ids_ == one.kept_ids_).all()
    assert other.decision_function(X)[:, order] == pytest.approx(one.decision_function(X), rel=1e-9, abs=1e-9)
