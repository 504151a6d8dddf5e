"""All generators: seeds, types, and sizes that are none."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from widemargin.datasets import (
    chess_board,
    noisy_chess_board,
    ringnorm,
    sparse_coordinates,
    twonorm,
    waveform,
)

GENERATORS = [chess_board, noisy_chess_board, sparse_coordinates, twonorm, ringnorm, waveform]


WIDTHS = {chess_board: 2, noisy_chess_board: 2, sparse_coordinates: 20, twonorm: 20, ringnorm: 20, waveform: 21}


Generator = Callable[..., tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]


@pytest.mark.parametrize("generator", GENERATORS)
def test_shapes_types_and_labels(generator: Generator) -> None:
    X, y = generator(200, random_state=0)
    assert X.shape == (200, WIDTHS[generator])
    assert X.dtype == np.float64
    assert y.shape == (200,)
    assert y.dtype == np.int64
    assert set(y.tolist()) == ({0, 1, 2} if generator is waveform else {-1, 1})


@pytest.mark.parametrize("generator", GENERATORS)
def test_seeds_and_generators_as_random_state(generator: Generator) -> None:
    X, y = generator(50, random_state=7)
    X_again, y_again = generator(50, random_state=np.random.default_rng(7))
    np.testing.assert_array_equal(X, X_again)
    np.testing.assert_array_equal(y, y_again)
    assert not np.array_equal(X, generator(50, random_state=8)[0])
    shared = np.random.default_rng(7)
    assert not np.array_equal(generator(50, random_state=shared)[0], generator(50, random_state=shared)[0])


@pytest.mark.parametrize("generator", GENERATORS)
def test_global_random_state_is_left_alone(generator: Generator) -> None:
    before = np.random.get_state()[1].copy()  # noqa: NPY002 - the global state is what is being guarded
    X, _ = generator(50)
    assert not np.array_equal(X, generator(50)[0])
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: chess_board(0), "n_samples must be a whole number of at least 1, got 0"),
        (lambda: twonorm(2.5), "n_samples must be a whole number of at least 1, got 2.5"),
        (lambda: waveform(True), "n_samples must be a whole number of at least 1, got True"),
        (lambda: chess_board(5, size=0), "size must be a whole number"),
        (lambda: chess_board(5, dimensions="2"), "dimensions must be a whole number of at least 1, got '2'"),
        (lambda: chess_board(5, noise=1.5), "noise must be a number between 0 and 1, got 1.5"),
        (lambda: chess_board(5, noise=float("nan")), "noise must be a number between 0 and 1, got nan"),
        (lambda: sparse_coordinates(5, n=1, m=0, k=3), "k must be at most 2 n \\+ m = 2, got 3"),
        (lambda: sparse_coordinates(5, m=-1), "m must be a whole number of at least 0, got -1"),
        (lambda: ringnorm(5, random_state=-1), "random_state must be a non-negative whole number"),
        (
            lambda: ringnorm(5, random_state=np.random.RandomState(0)),
            "random_state must be a non-negative whole number",
        ),
    ],
)
def test_refusals(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
