"""The data sets of [Glasmachers2008, sections 6.3.1 and 7.2], coded as there.

The numbers of support vectors in Table 7.1 tell how each set was coded: the spam data of chapter 7 are raw, those of
chapter 6 standardised; ionosphere is raw; the squares of a game board are -1, 0 and 1.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.peers.problems import FloatMatrix, Labels, stored
from widemargin.datasets import chess_board

Data = tuple[FloatMatrix, Labels]
Loader = Callable[[Path | None], Data]

SQUARE_VALUES = {"x": 1.0, "b": 0.0, "o": -1.0}
CONNECT4_TRAINING_ROWS = 30_555


def as_stored(name: str) -> Loader:
    """Return a loader of a stored set as it is."""

    def load(folder: Path | None) -> Data:
        X, y, _ = stored(name, folder)
        return X, y

    return load


def chess_board_rows(n_rows: int) -> Loader:
    """Return a loader of a chess board without noise, the same on every call."""

    def load(folder: Path | None) -> Data:
        return chess_board(n_rows, random_state=0)

    return load


def board_values(X: FloatMatrix, feature_names: npt.NDArray[Any]) -> FloatMatrix:
    """Turn one-hot squares (columns ``square=b``, ``square=o``, ``square=x``) into one column of -1, 0, 1 each."""
    values = np.array([SQUARE_VALUES[str(name).rpartition("=")[2]] for name in feature_names])
    board: FloatMatrix = (X * values).reshape(len(X), -1, len(SQUARE_VALUES)).sum(axis=2)
    return board


def tic_tac_toe(folder: Path | None) -> Data:
    """Load tic-tac-toe, nine squares."""
    X, y, extra = stored("tic_tac_toe", folder)
    return board_values(X, extra["feature_names"]), y


def spam_standardised(folder: Path | None) -> Data:
    """Load the spam data, every feature with mean zero and unit variance."""
    X, y, _ = stored("spambase", folder)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def connect4(folder: Path | None) -> Data:
    """Load connect-4 without the draws, 42 squares."""
    X, y, extra = stored("connect4", folder)
    decided = y != 0
    return board_values(X[decided], extra["feature_names"]), y[decided]


def connect4_half(folder: Path | None) -> Data:
    """Load as many rows of :func:`connect4` as chapter 6 trains on, drawn with a fixed seed."""
    X, y = connect4(folder)
    rows = np.random.default_rng(1).permutation(len(y))[:CONNECT4_TRAINING_ROWS]
    return X[rows], y[rows]
