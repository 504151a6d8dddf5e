"""What holds for kernels of any sequences: found by looking for a case in which it does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from widemargin.datasets.genbank import reverse_complement
from widemargin.kernels import CombinedOligo, Gapped, Oligo, Spectrum, TripletOligo, WeightedOligo
from widemargin.kernels.sequences.alphabet import all_codes, written

#: Sequences of at least three letters, all of which are known.
TEXTS = st.lists(st.text("ACGT", min_size=3, max_size=40), min_size=1, max_size=8)
WIDTHS = st.floats(-2.0, 4.0).map(lambda exponent: 10.0**exponent)


@st.composite
def kernels(draw: st.DrawFn, positions: bool = True, **how: Any) -> Any:
    """Return a kernel with an alphabet, for sequences of at least three letters."""
    k, sigma = draw(st.integers(1, 3)), draw(WIDTHS)
    weights = {name: draw(st.floats(0.1, 10.0)) for name in draw(st.sets(st.sampled_from(["ATG", "GGA", "CCC"])))}
    counting = [Spectrum(k, draw(st.integers(0, k - 1)), **how), Gapped(2, draw(st.integers(0, 1)), **how)]
    placed = [
        Oligo(k, sigma, **how),
        CombinedOligo([sigma, 1.0], (k, 2), **how),
        WeightedOligo([sigma, 1.0], [draw(st.floats(0.0, 5.0)), 1.0], (k, 2), **how),
        TripletOligo(sigma, weights, **how),
    ]
    return draw(st.sampled_from([*placed, *counting] if positions else counting))


@settings(max_examples=150, deadline=None)
@given(X=TEXTS, kernel=kernels(alphabet="ACGT"))
def test_values_are_symmetric_and_positive_semidefinite(X: list[str], kernel: Any) -> None:
    K = kernel(X)
    assert np.array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() >= -1e-12 * np.trace(K)
    if not isinstance(kernel, WeightedOligo | CombinedOligo):
        assert np.diagonal(K) == pytest.approx(np.ones(len(X)), rel=1e-14)
    assert np.diagonal(K) == pytest.approx(kernel.diag(X), rel=1e-12)
    roots = np.sqrt(np.diagonal(K))
    assert (np.abs(K) <= np.outer(roots, roots) * (1 + 1e-12)).all()


@settings(max_examples=100, deadline=None)
@given(X=TEXTS, Y=TEXTS, kernel=kernels(alphabet="ACGT"), data=st.data())
def test_a_value_is_that_of_its_pair_alone(X: list[str], Y: list[str], kernel: Any, data: Any) -> None:
    K = kernel(X, Y)
    left, right = data.draw(st.permutations(range(len(X)))), data.draw(st.permutations(range(len(Y))))
    shuffled = kernel([X[i] for i in left], [Y[j] for j in right])
    assert shuffled == pytest.approx(K[np.ix_(left, right)], rel=1e-12, abs=1e-300)
    assert kernel(Y, X) == pytest.approx(K.T, rel=1e-12, abs=1e-300)
    assert kernel(X[:1], Y[-1:])[0, 0] == pytest.approx(K[0, -1], rel=1e-12, abs=1e-300)


@settings(max_examples=100, deadline=None)
@given(X=TEXTS, kernel=kernels(alphabet="ACGT"), order=st.permutations("ACGT"))
def test_the_names_of_letters_do_not_matter(X: list[str], kernel: Any, order: list[str]) -> None:
    renamed = str.maketrans("ACGT", "".join(order))
    other = type(kernel)(**kernel.get_params())
    if isinstance(kernel, TripletOligo):
        other.set_params(weights={name.translate(renamed): weight for name, weight in kernel.weights.items()})
    expected = kernel(X)
    assert other([text.translate(renamed) for text in X]) == pytest.approx(expected, rel=1e-12, abs=1e-300)
    other = type(kernel)(**kernel.get_params()).set_params(alphabet="".join(order))
    assert other(X) == pytest.approx(expected, rel=1e-12, abs=1e-300)


@settings(max_examples=100, deadline=None)
@given(X=TEXTS, Y=TEXTS, kernel=kernels(alphabet="ACGT"))
def test_case_and_uracil_do_not_matter(X: list[str], Y: list[str], kernel: Any) -> None:
    written = [text.lower().replace("t", "U") for text in X]
    assert np.array_equal(kernel(written, Y), kernel(X, Y))


@settings(max_examples=100, deadline=None)
@given(X=TEXTS, Y=TEXTS, kernel=kernels(positions=False, alphabet="ACGT", reverse_complement=True))
def test_the_other_strand_has_the_same_counts(X: list[str], Y: list[str], kernel: Any) -> None:
    # Of gapped oligomers, too: a window read backwards holds the same ones backwards.
    turned = [reverse_complement(text) for text in X]
    assert kernel(turned, Y) == pytest.approx(kernel(X, Y), rel=1e-12, abs=1e-300)


@settings(max_examples=100, deadline=None)
@given(length=st.integers(3, 30), data=st.data(), k=st.integers(1, 3), sigma=WIDTHS)
def test_both_strands_turned_have_the_same_values(length: int, data: Any, k: int, sigma: float) -> None:
    """Places are mirrored: of sequences of one length all distances stay."""
    X = data.draw(st.lists(st.text("ACGT", min_size=length, max_size=length), min_size=2, max_size=5))
    kernel = Oligo(k, sigma, alphabet="ACGT", reverse_complement=True)
    assert kernel([reverse_complement(text) for text in X]) == pytest.approx(kernel(X), rel=1e-10, abs=1e-300)
    weights = dict.fromkeys(written(all_codes("ACGT", k, True), "ACGT", k), 2.0)
    triplet = TripletOligo(sigma, weights, k, alphabet="ACGT", reverse_complement=True)
    assert triplet(X) == pytest.approx(kernel(X), rel=1e-12, abs=1e-300)


@settings(max_examples=100, deadline=None)
@given(X=TEXTS, front=st.integers(0, 9), kernel=kernels(alphabet="ACGT"))
def test_unknown_letters_in_front_only_move_the_origin(X: list[str], front: int, kernel: Any) -> None:
    expected, longer = kernel(X), ["N" * front + text for text in X]
    assert kernel(longer) == pytest.approx(expected, rel=1e-12, abs=1e-300)
    if "origin" in kernel.get_params():
        kernel.set_params(origin=front)
        some, others = kernel(longer), kernel.set_params(origin=0)(X)
        assert some == pytest.approx(others, rel=1e-12, abs=1e-300)
