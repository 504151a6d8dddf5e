"""The sums of the core: beside the naive formula on sequences of every kind, for any number of threads."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from tests.oracles.sequences import naive_oligo_matrix, random_texts

from widemargin import SVC, SVDD, SVR, GridSearchCV, OneClassSVM, OnlineSVC, _core
from widemargin.kernels import CombinedOligo, Oligo, Spectrum, TripletOligo, WeightedOligo
from widemargin.kernels.rows import FixedKernel, row_source
from widemargin.kernels.sequences import Sequences
from widemargin.kernels.sequences.alphabet import all_codes, written
from widemargin.kernels.sequences.oligomers import Reading
from widemargin.kernels.sequences.sums import OligoSums
from widemargin.runtime import Allowance, Stop, StoppedError, allowed

PROTEIN = "ACDEFGHIKLMNPQRSTVWY"


@pytest.mark.parametrize("letters", ["01", "ACGT", "ACGTN", PROTEIN])
@pytest.mark.parametrize("k", range(1, 7))
@pytest.mark.parametrize("origin", [0, -1, "|"])
def test_random_strings_of_different_lengths(letters: str, k: int, origin: int | str) -> None:
    generator = np.random.default_rng(k)
    X, Y = random_texts(6, letters, 6, 40, seed=k), random_texts(4, letters, 0, 60, seed=k + 10)
    alphabet = letters.replace("N", "") if len(letters) == 5 else letters
    kernel = Oligo(k, 1.7, normalize=False, alphabet=alphabet, origin=origin)
    starts = {one: 0 for one in X + Y} if origin == 0 else {one: len(one) - 1 for one in X + Y}
    if origin == "|":
        starts = {one: int(generator.integers(0, len(one) + 1)) for one in X + Y}
    given = [[one[: starts[one]] + "|" * (origin == "|") + one[starts[one] :] for one in some] for some in (X, Y)]
    expected = [
        [naive_oligo_matrix([x], [y], k, 1.7, False, alphabet=alphabet, starts=(starts[x], starts[y]))[0, 0] for y in Y]
        for x in X
    ]
    assert kernel(*given) == pytest.approx(np.array(expected), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("k", [1, 3, 6])
@pytest.mark.parametrize("sigma", [1e-20, 2.0, 300.0, 1e20])
def test_long_sequences(k: int, sigma: float) -> None:
    """10,000 letters: pairs of places are counted by their distance, oligomer by oligomer."""
    texts = random_texts(2, "ACGT", 10_000, 10_000, seed=k)
    found = Oligo(k, sigma, normalize=False, alphabet="ACGT")(texts)
    codes = [np.zeros(10_000 - k + 1, dtype=int) for _ in texts]
    for own, text in zip(codes, texts, strict=True):
        letters = np.array(["ACGT".index(one) for one in text])
        for j in range(k):
            own += letters[j : j + len(own)] * 4**j
    lags = np.arange(-min(9_999, 60 * max(1, int(min(sigma, 1e4)))), min(9_999, 60 * max(1, int(min(sigma, 1e4)))) + 1)
    if len(lags) > 5_000:
        total = sum(np.sum(codes[0] == c) * np.sum(codes[1] == c) for c in range(4**k))
        assert found[0, 1] <= total * (1 + 1e-12)
        if sigma == 1e20:
            assert found[0, 1] == pytest.approx(total, rel=1e-12)
        return
    expected = 0.0
    for lag in lags:
        a, b = (codes[0][lag:], codes[1]) if lag >= 0 else (codes[0], codes[1][-lag:])
        n = min(len(a), len(b))
        expected += np.sum(a[:n] == b[:n]) * np.exp(-min((lag / (2 * sigma)) ** 2, 1e4))
    assert found[0, 1] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_any_number_of_threads_gives_the_same_bits(k: int) -> None:
    X, Y = Sequences(random_texts(150, "ACGT", 20, 60)), Sequences(random_texts(90, "ACGT", 20, 60, seed=1))
    weights = np.random.default_rng(0).uniform(0.1, 2.0, 4**k)
    for right in (X, Y):
        sums = OligoSums(X, right, Reading("ACGT", k), 1.3, weights)
        W = np.random.default_rng(1).normal(size=(len(X), len(right)))
        K, pulled = sums.values(), sums.pull_back(W)
        for n_threads in (2, 5):
            again = Allowance(n_threads).run(sums.pull_back, W)
            assert np.array_equal(Allowance(n_threads).run(sums.values), K)
            assert again.by_sigma == pulled.by_sigma
            assert np.array_equal(again.by_code, pulled.by_code)
    inside = Allowance(3).run(sums.pull_back_diagonal, W[:, 0].copy(), X)
    assert np.array_equal(inside.by_code, sums.pull_back_diagonal(W[:, 0].copy(), X).by_code)


@pytest.mark.parametrize("kernel", [Oligo(3, 1.2), Oligo(6, 1.2, normalize=False), CombinedOligo(), TripletOligo(2.0)])
def test_rows_are_the_values(kernel: Oligo) -> None:
    X = random_texts(70, "ACGT", 20, 60)
    fitted = kernel.fitted(X)
    K, rows = fitted(X), row_source(X, kernel=FixedKernel(fitted))
    assert rows.diagonal() == pytest.approx(np.diagonal(K), rel=1e-13)
    assert rows.fits_float32
    ids = np.arange(len(X), dtype=np.int32)
    for n_threads in (1, 3):
        assert np.asarray(_core.kernel_among(rows, ids, n_threads)) == pytest.approx(K, rel=2e-6, abs=1e-12)
    y = np.arange(len(X)) % 2
    one, three = (SVC(kernel=fitted, C=10.0, n_jobs=n).fit(X, y) for n in (1, 3))
    assert np.array_equal(one.dual_coef_, three.dual_coef_)
    precomputed = SVC(kernel="precomputed", C=10.0).fit(K, y)
    assert one.decision_function(X) == pytest.approx(precomputed.decision_function(K), abs=1e-2)


def test_the_alphabet_may_be_permuted() -> None:
    X = random_texts(9, "ACGT", 10, 30)
    swapped = [text.translate(str.maketrans("ACGT", "GTCA")) for text in X]
    for k in (1, 3, 5):
        kernel = Oligo(k, 1.2, alphabet="ACGT")
        assert kernel(swapped) == pytest.approx(kernel(X), rel=1e-13)
        assert Oligo(k, 1.2, alphabet="TGCA")(X) == pytest.approx(kernel(X), rel=1e-13)


def test_what_does_not_fit_together_is_refused() -> None:
    codes, begins, origins = np.zeros(3, dtype=np.int32), np.array([0, 2, 3]), np.zeros(2, dtype=np.int64)
    with pytest.raises(ValueError, match="the arrays of the sequences do not fit together"):
        _core.Oligomers(codes, begins, np.zeros(3, dtype=np.int64), 1)
    with pytest.raises(ValueError, match="code of an oligomer is too large"):
        _core.Oligomers(codes + 1, begins, origins, 1)
    with pytest.raises(ValueError, match="beyond what 32 bits hold"):
        _core.Oligomers(codes, begins, origins + 2**40, 1)
    one = _core.Oligomers(codes, begins, origins, 1)
    with pytest.raises(ValueError, match="a number for every distance"):
        _core.oligo_sums_within(one, np.ones(1), None, **allowed())
    ids = np.array([2], dtype=np.int32)
    with pytest.raises(ValueError, match="number of a sequence is out of range"):
        _core.oligo_pull_back_within(np.ones(1), one, ids, np.ones(3), np.ones(3), None, **allowed())


def test_oligomers_that_are_rare_have_their_weights() -> None:
    """Few of a kind in long sequences: all pairs are looked at, and no table is made."""
    texts, names = random_texts(4, "ACGT", 180, 220), written(all_codes("ACGT", 3), "ACGT", 3)
    weights = dict(zip(names, np.random.default_rng(0).uniform(0.1, 3.0, 64).tolist(), strict=True))
    expected = naive_oligo_matrix(texts[:2], texts, 3, 5.0, weights=weights.__getitem__)
    assert TripletOligo(5.0, weights, alphabet="ACGT")(texts[:2], texts) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("length", [300_000, 400_001])
def test_very_long_sequences_may_be_interrupted(length: int) -> None:
    """All pairs of places of one letter: nobody waits for that."""
    texts = ["A" * length, "A" * (length - 1)]
    kernel = Oligo(1, 1e20, alphabet="A")
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    began = time.perf_counter()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        kernel(texts)
    timer.join()
    assert time.perf_counter() - began < 5.0


def test_values_end_with_the_time_that_they_are_allowed_or_when_another_thread_asks() -> None:
    texts = ["A" * 400_000, "A" * 399_999]
    kernel, stop = Oligo(1, 1e20, alphabet="A"), Stop()
    with pytest.raises(StoppedError):
        Allowance(1, Stop().within(0.2)).run(kernel, texts)
    timer = threading.Timer(0.2, stop.request)
    timer.start()
    with pytest.raises(StoppedError):
        Allowance(2, stop).run(kernel, texts)
    timer.join()


def threads_used(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list of how many threads each computation of sums takes from now on."""
    used: list[int] = []

    def counted(computed: Any) -> Any:
        def compute(*given: Any, n_threads: int, **others: Any) -> Any:
            used.append(n_threads)
            return computed(*given, n_threads=n_threads, **others)

        return compute

    for name in ("oligo_sums", "oligo_sums_within"):
        monkeypatch.setattr(_core, name, counted(getattr(_core, name)))
    return used


@pytest.mark.parametrize("kernel", [Oligo(3, 1.2), CombinedOligo(1.2), TripletOligo(1.2), 2.0 * Oligo(2) + Oligo(3)])
def test_threads_are_those_of_the_model_and_change_nothing(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    texts, new = random_texts(40, "ACGT", 20, 30), random_texts(70, "ACGT", 20, 30, seed=1)
    model = SVC(kernel=kernel).fit(texts, np.arange(40) % 2)
    expected = model.decision_function(new)
    used = threads_used(monkeypatch)
    assert model.set_params(n_jobs=3).decision_function(new).tolist() == expected.tolist()
    assert set(used) == {3}
    used.clear()
    SVC(kernel=kernel, n_jobs=3).fit(texts, np.arange(40) % 2)
    assert used.count(3) > 1
    used.clear()
    GridSearchCV(SVC(kernel=kernel), {"C": [1.0, 2.0]}, cv=2, n_jobs=2).fit(texts, np.arange(40) % 2)
    assert 2 in used


@pytest.mark.parametrize(
    "model",
    [
        SVC(cache_size=0.01),
        SVC(max_time=100.0),
        SVR(max_time=100.0),
        SVDD(max_time=100.0),
        OneClassSVM(max_time=100.0),
        OnlineSVC(),
        OnlineSVC(budget=10),
    ],
    ids=repr,
)
def test_rows_that_solvers_ask_for_take_the_threads_of_the_model(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    texts, used = random_texts(40, "ACGT", 20, 30), threads_used(monkeypatch)
    model = clone(model).set_params(kernel=Oligo(2) * Spectrum(2), n_jobs=2).fit(texts, np.arange(40) % 2)
    assert set(used) == {2}
    if isinstance(model, OnlineSVC):
        model.partial_fit(texts, np.arange(40) % 2).finish().forget(model.kept_ids_[:2])
        model.query(texts, n=3)
        assert set(used) == {2}


@pytest.mark.parametrize(
    ("kernel", "computed"),
    [(Oligo(3), 1), (TripletOligo(), 65), (CombinedOligo(lengths=(1, 2)), 4), (WeightedOligo(lengths=(1, 2)), 4)],
)
def test_derivatives_take_the_values_of_each_length_once(
    kernel: Any, computed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, others = random_texts(5, "ACGT", 20, 30), random_texts(4, "ACGT", 20, 30, seed=1)
    own = kernel.fitted(texts)
    X, Y, K = own.samples(texts), own.samples(others), own(texts, others)
    calls: list[str] = []
    sums = _core.oligo_sums
    monkeypatch.setattr(_core, "oligo_sums", lambda *given, **others: calls.append("sums") or sums(*given, **others))
    assert len(list(own.derivatives(X, Y, K))) == own.n_dims
    assert len(calls) == computed
