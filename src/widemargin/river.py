"""LASVM as a classifier of river, the library for streams: ``pip install widemargin[river]``.

Imports from ``estimators`` and ``machines``; the rest of the package does not know of river.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import softmax

from widemargin.estimators import OnlineSVC
from widemargin.estimators.validation import KERNELS_OF_SAMPLES, require_choice, require_magnitude, require_number
from widemargin.kernels.rows import take
from widemargin.machines.online.kept_samples import joined
from widemargin.machines.online.stream import WAITING, OnlineRules

try:
    from river.base import Classifier
except ModuleNotFoundError as missing:
    if missing.name not in ("river", "river.base"):
        raise
    raise ModuleNotFoundError(
        "widemargin.river needs river, which is not installed; pip install widemargin[river].", name="river"
    ) from missing

Row = NDArray[np.float64]

#: Columns up to which samples are dense.
DENSE = 64

#: Factors of decision values, which probabilities are made of.
FACTORS = 2.0 ** np.arange(-4.0, 6.5, 0.5)

#: What their losses begin with: of factors that are equally good, the one next to 2 is the best.
INITIAL_LOSSES = 0.01 * np.square(np.log2(FACTORS) - 1.0)

#: What is left of a loss with each sample that comes.
MEMORY = 0.999


class RiverSVC(Classifier):
    """C-support vector classification for river: :class:`~widemargin.OnlineSVC`, one dict of features at a time.

    What is learnt, and what it costs, is said there [Bordes2005; Glasmachers2008, chapter 8]. Scale the features
    before, for example with ``river.preprocessing.StandardScaler``.

    Features become columns when they are first seen, sorted, so that their order in a dict does not matter. A feature
    that a dict lacks is 0, and one that comes up later was 0 for all samples before, which changes none of their kernel
    values. A prediction looks only at features that have been learnt from. Values are numbers; encode others before.

    Classes are those that have been seen. While there is one, it is predicted, and the first 16 samples wait for
    another. With each further class the model begins anew: it learns from the samples that it has kept, in the order
    in which they came, and nothing else is left of what it was.

    Probabilities are decision values times a factor, through the logistic function, or softmax for more than two
    classes. The factor is that of several with the least logarithmic loss so far, of what would have been said of each
    sample before it was learnt from; the last thousand count most. So the most probable class is the one that is
    predicted.

    Parameters
    ----------
    C : float, default=1.0
        Regularisation parameter.
    kernel : {"linear", "poly", "rbf", "sigmoid"}, default="rbf"
    gamma : "auto" or float, default="auto"
        "auto" is 1 / n_features of the first sample.
    degree, coef0, selection, window, budget, tol
        See :class:`~widemargin.OnlineSVC`.

    References
    ----------
    [Bordes2005]_, [Glasmachers2008]_ chapter 8; keys are those of ``references.bib``.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from widemargin.river import RiverSVC
    >>> model = preprocessing.StandardScaler() | RiverSVC(C=1.0, gamma=0.1, window=500)
    >>> metric = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    >>> metric.get() > 0.85
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        kernel: str = "rbf",
        gamma: float | str = "auto",
        degree: int = 3,
        coef0: float = 0.0,
        selection: str = "second-order",
        window: int | None = None,
        budget: int | None = None,
        tol: float = 1e-3,
    ) -> None:
        require_choice("kernel", kernel, KERNELS_OF_SAMPLES)
        require_number("gamma", gamma, at_least=0, others=("auto",))
        self.C, self.kernel, self.gamma, self.degree, self.coef0 = C, kernel, gamma, degree, coef0
        self.selection, self.window, self.budget, self.tol = selection, window, budget, tol
        self._gamma: float | str = gamma
        self._columns: dict[Any, int] = {}
        self._width = 0
        self._classes: dict[Any, int] = {}
        self._waiting: list[tuple[Row, float]] = []
        self._model: OnlineSVC | None = None
        self._losses = INITIAL_LOSSES
        self._last: tuple[dict[Any, float], Any] | None = None
        self._begin()._check_parameters()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"gamma": 0.1, "window": 200}
        yield {"kernel": "linear", "budget": 50}

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def model(self) -> OnlineSVC | None:
        """The model itself, with ``gap_``, ``finish`` and the rest; its classes are numbers. None below two classes."""
        return self._model

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn from a sample.

        Parameters
        ----------
        x : dict
            Features.
        y : hashable
            Its class.
        w : float, default=1.0
            Its weight; 0 is the same as leaving the sample out.
        """
        require_number("w", w, at_least=0)
        values = {name: _number(name, value) for name, value in x.items()}
        if y is None or y != y:
            raise ValueError(f"y is {y!r}, which is no class; leave the sample out.")
        if w == 0:
            return
        if values:
            require_magnitude(np.array([list(values.values())]))
        columns, more = self._columns, [name for name in values if name not in self._columns]
        if more:
            names = [*columns, *sorted(more, key=lambda name: (type(name).__name__, str(name)))]
            columns = {name: number for number, name in enumerate(names)}
        self._widen(len(columns))
        row, number = self._row(values, columns), self._classes.get(y, len(self._classes))
        # Where the sample is refused, nothing has been learnt.
        is_new = y not in self._classes
        model = self._with_a_class_more() if is_new else self._model
        if model is not None and is_new:
            model.partial_fit(row, np.array([number]), sample_weight=[w])
            self._model, self._waiting = model, []
        elif model is not None:
            # Who learns from a sample several times, as in bagging, knows it already.
            again = (values, y) == self._last
            if not again:
                losses = losses_of(self._decide(row), number)
            model._learn_checked(row, np.array([number], dtype=np.int32), np.array([float(w)]), again=again)
            if not again:
                self._losses = MEMORY * self._losses + losses
        elif len(self._waiting) < WAITING:
            self._begin().partial_fit(row, np.array([0]), classes=[0, 1], sample_weight=[w])
            self._waiting.append((row, float(w)))
        self._classes[y], self._columns, self._last = number, columns, (values, y)
        if self._gamma == "auto":
            self._gamma = 1.0 / max(1, len(columns))

    def predict_one(self, x: Mapping[Any, Any], **kwargs: Any) -> Any:
        """Predict the class of a sample; None before any class has been seen.

        Parameters
        ----------
        x : dict
            Features.

        Returns
        -------
        The class, as it was given to :meth:`learn_one`.
        """
        if not self._classes:
            return None
        names = list(self._classes)
        values = {name: _number(name, value) for name, value in x.items()}
        if self._model is None:
            return names[0]
        return names[int(np.argmax(self._decide(self._row(values, self._columns))))]

    def predict_proba_one(self, x: Mapping[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each class that has been seen.

        Parameters
        ----------
        x : dict
            Features.

        Returns
        -------
        dict
            By class, as these were given to :meth:`learn_one`; empty before any has been seen.
        """
        names = list(self._classes)
        values = {name: _number(name, value) for name, value in x.items()}
        if self._model is None:
            return dict.fromkeys(names, 1.0)
        found = softmax(FACTORS[self._losses.argmin()] * self._decide(self._row(values, self._columns)))
        return dict(zip(names, found.tolist(), strict=True))

    def _decide(self, row: Any) -> Row:
        """Return a decision value for each class, of which the largest wins."""
        assert self._model is not None
        return _by_class(self._model._stream.decide(row, OnlineRules()))

    def _row(self, values: Mapping[Any, float], columns: Mapping[Any, int]) -> Any:
        """Return a sample as a matrix of one row, sparse where there are many columns."""
        entries = sorted((columns[name], value) for name, value in values.items() if value and name in columns)
        at, numbers = [column for column, _ in entries], [value for _, value in entries]
        if self._width > DENSE:
            row = sp.csr_array((1, self._width))
            row.indices, row.data = np.array(at, dtype=np.int32), np.array(numbers, dtype=np.float64)
            row.indptr = np.array([0, len(at)], dtype=np.int32)
            row.has_canonical_format = True
            return row
        row = np.zeros((1, self._width))
        row[0, at] = numbers
        return row

    def _begin(self) -> OnlineSVC:
        """Return a model that has learnt nothing yet; "auto" is what it was for the first sample."""
        numbers: dict[str, Any] = {name: getattr(self, name) for name in self._get_params()}
        if self.kernel == "linear":
            del numbers["gamma"]
        else:
            numbers["gamma"] = self._gamma
        return OnlineSVC(**numbers)

    def _widen(self, features: int) -> None:
        """Make room for all features, and as many again, where there is none: columns of 0 for the samples so far."""
        if 0 < self._width >= features:
            return
        more = 2 * features - self._width if self._width else max(1, features)
        self._width += more
        self._waiting = [(_widened(row, more, self._width > DENSE), w) for row, w in self._waiting]
        if self._model is not None:
            self._model._append_features(more, lambda rows: _widened(rows, more, self._width > DENSE))

    def _with_a_class_more(self) -> OnlineSVC | None:
        """Return a model of one class more that has learnt from the samples that are kept; None below two classes."""
        number = len(self._classes) + 1
        if number < 2:
            return None
        if self._model is None:
            X: Any = reduce(joined, [row for row, _ in self._waiting])
            labels, weights = np.zeros(len(self._waiting), dtype=np.int32), np.array([w for _, w in self._waiting])
        else:
            stream = self._model._settled()
            kept = stream.kept
            X, labels, weights = take(stream.samples, kept), stream.labels[kept], stream.weights[kept]
        return self._begin().partial_fit(X, labels, classes=list(range(number)), sample_weight=weights)


def _widened(rows: Any, more: int, sparse: bool) -> Any:
    """Return rows with further columns of 0."""
    zeros = sp.csr_array((rows.shape[0], more))
    if sparse:
        return sp.csr_array(sp.hstack([sp.csr_array(rows), zeros], format="csr"))
    return np.hstack([rows, zeros.toarray()])


def _by_class(values: Row) -> Row:
    """Return a decision value for each class from those of the functions of one sample, of which two classes have one.

    Values that float32 cannot hold are the largest that there are.
    """
    found = np.nan_to_num(values[:, 0])
    return found if len(found) > 1 else np.array([0.5, -0.5]) * found


def losses_of(values: Row, number: int) -> Row:
    """Return the logarithmic loss of softmax for each of the factors, where a class is the right one.

    Examples
    --------
    >>> bool((np.diff(losses_of(np.array([1.0, -1.0]), 0)) < 0).all())
    True
    """
    beyond = np.outer(FACTORS, values - values[number])
    return np.asarray(np.logaddexp.reduce(beyond, axis=1))


def _number(name: Any, value: Any) -> float:
    """Return a feature's value, if it is a finite number."""
    try:
        found = float(value) if not isinstance(value, str | bytes) else math.nan
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found):
        raise ValueError(
            f"Feature {name!r} is {value!r}; only finite numbers are accepted: encode other values, or leave the "
            "feature out."
        )
    return found
