"""The problems: what is trained on what, and which time is asked of widemargin.

Rows are shuffled with ``numpy.random.default_rng(1).permutation``; the first part trains, the rest tests. Only MNIST
keeps its published order: its first 10,000 training rows train, its 10,000 test rows test.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from widemargin.datasets import chess_board, load_npz, ringnorm, twonorm, waveform

FloatMatrix = npt.NDArray[np.float64]
Labels = npt.NDArray[Any]
Parameters = Mapping[str, Any]

SHUFFLE_SEED = 1


class Split(NamedTuple):
    """Training and test part of a problem; the test part may be empty."""

    X: FloatMatrix
    y: Labels
    X_test: FloatMatrix
    y_test: Labels


class Bar(NamedTuple):
    """What is asked of widemargin: at most ``factor`` times the time of the fastest of ``peers``."""

    factor: float
    peers: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.factor:g} x {' or '.join(self.peers)}"


INTELEX = ("intelex", "intelex32")


@dataclass(frozen=True)
class Entry:
    """An entry in a comparison: which estimator of which peer is trained.

    ``dual`` names the problem that it solves, by which its result is judged; ``compared`` says whether its objective
    may be compared with widemargin's.
    """

    peer: str
    estimator: str
    parameters: Parameters
    dual: str = "hinge"
    compared: bool = True


@dataclass(frozen=True)
class Problem:
    """A way to build a data set, the model to be trained on it, and the bar.

    ``kind`` is "fit" for a model and "gram" for a full kernel matrix. ``parameters`` are those of the model besides
    the Gaussian kernel. ``entries`` says who trains what, if it is not everybody's SVC. ``left_out`` names the entries
    that run only on request, most of them because they need minutes; ``peer_cache`` is the kernel cache in MB given to
    everybody but widemargin, which sizes its own. A run makes ``calls`` calls where one is too short for the clock: it
    repeats a fit, or predicts the test samples in that many parts, on one thread, as by default.
    """

    name: str
    parameters: Parameters
    gamma: float
    build: Callable[[Path | None], Split] = field(repr=False)
    bar: Bar | None = None
    kind: str = "fit"
    left_out: tuple[str, ...] = ()
    peer_cache: int = 200
    calls: int = 1
    entries: Mapping[str, Entry] = field(default_factory=dict)

    def entry(self, name: str) -> Entry:
        """Return what ``name`` trains; a peer's SVC unless the problem says otherwise."""
        return self.entries[name] if self.entries else Entry(name, "SVC", self.parameters)

    def threads(self, n_jobs: int) -> int:
        """Return how many of ``n_jobs`` threads a library is told to use."""
        return n_jobs if self.calls == 1 else 1

    def load(self, folder: Path | None, samples: int | None = None) -> Split:
        """Build the data; ``samples`` keeps only that many of the training samples."""
        split = self.build(folder)
        return split if samples is None else split._replace(X=split.X[:samples], y=split.y[:samples])


def shuffled(X: FloatMatrix, y: Labels, n_train: int) -> Split:
    """Shuffle the rows; the first ``n_train`` train."""
    order = np.random.default_rng(SHUFFLE_SEED).permutation(len(y))
    train, test = order[:n_train], order[n_train:]
    return Split(np.ascontiguousarray(X[train]), y[train], np.ascontiguousarray(X[test]), y[test])


def standardised(split: Split) -> Split:
    """Give every column mean zero and unit variance on the training part; constant columns are only centred."""
    mean, scale = split.X.mean(axis=0), split.X.std(axis=0)
    scale[scale == 0] = 1.0
    return split._replace(X=(split.X - mean) / scale, X_test=(split.X_test - mean) / scale)


def stored(name: str, folder: Path | None) -> tuple[FloatMatrix, Labels, dict[str, Any]]:
    """Read a stored data set as a dense float64 matrix."""
    X, y, extra = load_npz(name, folder)
    dense: Any = X
    if issparse(dense):
        dense = dense.toarray()
    return np.asarray(dense, dtype=np.float64), y, extra


def largest_class(y: Labels) -> Labels:
    """Return +1 for the most frequent label and -1 for the rest."""
    labels, counts = np.unique(y, return_counts=True)
    return np.where(y == labels[np.argmax(counts)], 1, -1)


def banana(folder: Path | None) -> Split:
    """Return the 4,300 training rows of the merged banana set."""
    X, y, _ = stored("raetsch_banana", folder)
    return shuffled(X, y, 4_300)


def spambase(folder: Path | None) -> Split:
    """Return 3,600 standardised e-mails."""
    X, y, _ = stored("spambase", folder)
    return standardised(shuffled(X, y, 3_600))


def splice(folder: Path | None) -> Split:
    """Return 2,200 strings of 60 positions, one-hot, the largest class against the rest."""
    codes, y, _ = stored("splice_strings", folder)
    letters = np.unique(codes)
    X = (codes[:, :, None] == letters).reshape(len(y), -1).astype(np.float64)
    return shuffled(X, largest_class(y), 2_200)


def letter(folder: Path | None) -> Split:
    """Return 15,000 letters, 26 classes."""
    X, y, _ = stored("letter", folder)
    return shuffled(X / 15, y, 15_000)


def shuttle(folder: Path | None) -> Split:
    """Return 43,500 standardised rows, class 1 against the rest."""
    X, y, _ = stored("shuttle", folder)
    return standardised(shuffled(X, np.where(y == 1, 1, -1), 43_500))


def shuttle_classes(folder: Path | None) -> Split:
    """Return 20,000 standardised rows, all seven classes."""
    X, y, _ = stored("shuttle", folder)
    return standardised(shuffled(X, y, 20_000))


def many_classes(folder: Path | None) -> Split:
    """Draw 500 classes of four samples with ten features, next to each other; none of them is tested."""
    random = np.random.default_rng(SHUFFLE_SEED)
    y = np.arange(2_000) % 500
    X = 2 * random.standard_normal((500, 10))[y] + random.standard_normal((2_000, 10)) / 2
    return Split(X, y, X[:0], y[:0])


def madelon(folder: Path | None) -> Split:
    """Return all 2,000 samples of 500 features, standardised."""
    X, y, _ = stored("madelon", folder)
    return standardised(shuffled(X, y, len(y)))


def iris(folder: Path | None) -> Split:
    """Return all 150 flowers."""
    X, y, _ = stored("iris", folder)
    return shuffled(X, y, len(y))


def a9a(folder: Path | None) -> Split:
    """Return 26,000 of the 32,561 published training rows, dense."""
    X, y, extra = stored("a9a", folder)
    published = extra["n_train"]
    return shuffled(X[:published], y[:published], 26_000)


def connect4(folder: Path | None) -> Split:
    """Return 40,000 positions of 126 one-hot columns, the largest class against the rest."""
    X, y, _ = stored("connect4", folder)
    return shuffled(X, largest_class(y), 40_000)


def mnist(n_train: int) -> Callable[[Path | None], Split]:
    """Return a builder of even against odd digits from the first ``n_train`` training rows."""

    def build(folder: Path | None) -> Split:
        X, digits, extra = stored("mnist", folder)
        X /= 255
        y = np.where(digits % 2 == 0, 1, -1)
        test = slice(extra["n_train"], None)
        return Split(X[:n_train].copy(), y[:n_train], X[test].copy(), y[test])

    return build


def generated(draw: Callable[..., tuple[FloatMatrix, Labels]], n_train: int) -> Callable[[Path | None], Split]:
    """Return a builder of ``n_train`` rows of a generator and as many test rows."""

    def build(folder: Path | None) -> Split:
        X, y = draw(2 * n_train, random_state=SHUFFLE_SEED)
        return shuffled(X, y, n_train)

    return build


def waveform_class_0(n_samples: int, *, random_state: int) -> tuple[FloatMatrix, Labels]:
    """Draw waveform, class 0 against the rest."""
    X, y = waveform(n_samples, random_state=random_state)
    return X, np.where(y == 0, 1, -1)


def normal_rows(n_rows: int, n_features: int) -> Callable[[Path | None], Split]:
    """Return a builder of standard normal rows for the kernel matrix, without labels worth the name."""

    def build(folder: Path | None) -> Split:
        X = np.random.default_rng(SHUFFLE_SEED).standard_normal((n_rows, n_features))
        return Split(X, np.zeros(n_rows), X[:0], np.zeros(0))

    return build


LINEAR = {"C": 1, "kernel": "linear"}
PRECOMPUTED = {"C": 10, "kernel": "precomputed"}

BARRED = (
    Problem("banana", {"C": 100}, 0.25, banana, Bar(1 / 4, ("sklearn",))),
    Problem("spambase", {"C": 10}, 0.005, spambase, Bar(1 / 5, ("sklearn",))),
    Problem("twonorm", {"C": 1}, 0.01, generated(twonorm, 7_400), Bar(1 / 8, ("sklearn",))),
    Problem("ringnorm", {"C": 2}, 0.1, generated(ringnorm, 7_400), Bar(1 / 2, INTELEX)),
    Problem(
        "chess_board", {"C": 1e6}, 0.5, generated(chess_board, 1_000), Bar(1.5, ("sklearn",)), left_out=("intelex32",)
    ),
    Problem(
        "gram",
        {},
        0.01,
        normal_rows(10_000, 100),
        Bar(0.55, ("intelex32",)),
        kind="gram",
        left_out=("intelex", "libsvm"),  # the rows are float32 for everybody; LIBSVM has no kernel function
    ),
    Problem("letter", {"C": 16}, 4, letter, Bar(1 / 3, ("sklearn",))),
    Problem("shuttle", {"C": 100}, 1, shuttle, Bar(1 / 5, ("sklearn",))),
    Problem("a9a", {"C": 4}, 0.03, a9a, Bar(0.6, INTELEX)),
    Problem("mnist", {"C": 10}, 0.02, mnist(10_000), Bar(0.7, INTELEX)),
    # oneDAL is fastest here when its cache holds more rows than the 200 MB of the other problems.
    Problem(
        "connect4", {"C": 4.5}, 0.2, connect4, Bar(1 / 4, INTELEX), left_out=("sklearn", "libsvm"), peer_cache=2_000
    ),
    # gamma="scale" of these three, as a number so that everybody has the same: 1 / (d var X).
    Problem("shuttle_classes", {"C": 10}, 1 / 9, shuttle_classes, Bar(1 / 4, ("sklearn",))),
    Problem("classes_500", {"C": 1}, 1 / 42.5, many_classes, Bar(1.0, ("sklearn",)), left_out=INTELEX),
    Problem("iris", {"C": 1}, 1 / (4 * 3.896), iris, Bar(1.0, ("sklearn",)), calls=50),
    Problem("madelon", LINEAR, 1.0, madelon, Bar(1 / 4, ("sklearn",))),
    Problem(
        "spambase_precomputed",
        PRECOMPUTED,
        0.005,
        spambase,
        Bar(1 / 3, ("sklearn",)),
        # oneDAL hands this kernel on to scikit-learn; LIBSVM wants a list of its own making.
        entries={name: Entry(name, "SVC", PRECOMPUTED) for name in ("widemargin", "sklearn")},
    ),
)

UNBARRED = (
    Problem("splice", {"C": 4}, 0.01, splice),
    Problem("waveform", {"C": 1}, 0.05, generated(waveform_class_0, 5_000)),
    Problem("chess_board_10000", {"C": 1e6}, 0.5, generated(chess_board, 10_000), left_out=INTELEX),
    Problem("mnist_60000", {"C": 10}, 0.02, mnist(60_000), left_out=("sklearn", "libsvm")),
)

PROBLEMS = {problem.name: problem for problem in BARRED + UNBARRED}


def some_to_predict(folder: Path | None) -> Split:
    """Return spambase with 500 samples to predict."""
    split = spambase(folder)
    return split._replace(X_test=split.X_test[:500], y_test=split.y_test[:500])


# Prediction: at most the time of the fastest oneDAL; of single samples, at most that of scikit-learn.
PREDICTED = (
    *(replace(PROBLEMS[name], bar=Bar(1.0, INTELEX)) for name in ("a9a", "mnist")),
    replace(PROBLEMS["spambase"], name="single_samples", build=some_to_predict, bar=Bar(1.0, ("sklearn",)), calls=500),
)
PREDICTABLE = {problem.name: problem for problem in PREDICTED} | PROBLEMS
