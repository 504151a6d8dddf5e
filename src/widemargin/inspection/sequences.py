"""What a model of sequences has learnt: weights of oligomers at positions, and what they mean for one sequence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from widemargin.estimators.base import KernelModel
from widemargin.estimators.classifier import KernelClassifier
from widemargin.estimators.novelty import NoveltyModel
from widemargin.estimators.prediction import as_dense
from widemargin.estimators.svdd import SVDD
from widemargin.inspection.oligomer_terms import Part, TermWeights, parts_of
from widemargin.kernels.sequences import Sequences
from widemargin.kernels.sequences.oligomers import located

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


class Cell(NamedTuple):
    """A weight: of which oligomer, and where its first letter is."""

    oligomer: str
    position: int
    weight: float


@dataclass(frozen=True)
class OligomerTable:
    """Weights of the oligomers of one length at every position.

    Attributes
    ----------
    k : int
        Letters of an oligomer.
    oligomers : list of str
        Those that the support vectors hold, in the order of the alphabet.
    positions : ndarray of shape (n_positions,), int
        Of the first letter, from the origin of the kernel.
    weights : ndarray of shape (n_oligomers, n_positions)
        How much an oligomer there raises the decision value, before the norm of the sequence divides it.
    toward : str
        What higher decision values speak for.
    """

    k: int
    oligomers: list[str]
    positions: NDArray[np.int64]
    weights: Matrix
    toward: str

    def heaviest(self, n: int = 10) -> list[Cell]:
        """Return the cells of the largest positive weights, the largest first."""
        return self._cells(np.argsort(-self.weights, axis=None, kind="stable")[:n])

    def lightest(self, n: int = 10) -> list[Cell]:
        """Return the cells of the smallest weights, those that speak most against it, the smallest first."""
        return self._cells(np.argsort(self.weights, axis=None, kind="stable")[:n])

    def _cells(self, flat: NDArray[np.intp]) -> list[Cell]:
        rows, columns = np.unravel_index(flat, self.weights.shape)
        return [
            Cell(self.oligomers[row], int(self.positions[column]), float(self.weights[row, column]))
            for row, column in zip(rows, columns, strict=True)
        ]


@dataclass(frozen=True)
class Contributions:
    """Which letters of a sequence made its decision value.

    Attributes
    ----------
    sequence : str
        Without the marker of its origin.
    positions : ndarray of shape (n_letters,), int
        Of the letters, from the origin of the kernel.
    values : ndarray of shape (n_letters,)
        What each letter contributes: of every oligomer that holds it, an equal share. Their sum is the decision value
        less the intercept.
    of_oligomers : tuple of ndarrays
        What the oligomer that begins at each letter contributes, for each table of weights.
    decision_value, intercept : float
    toward : str
        What higher decision values speak for.
    """

    sequence: str
    positions: NDArray[np.int64]
    values: Vector
    of_oligomers: tuple[Vector, ...]
    decision_value: float
    intercept: float
    toward: str


@dataclass(frozen=True)
class Substitutions:
    """What every single substitution would change about a decision value.

    Attributes
    ----------
    sequence : str
        Without the marker of its origin.
    positions : ndarray of shape (n_letters,), int
        Of the letters, from the origin of the kernel.
    letters : str
        The alphabet.
    changes : ndarray of shape (n_letters, len(letters))
        The decision value with this letter in place of the one there, less that of the sequence; 0 for the letter
        itself, not a number where the kernel would refuse the new sequence.
    decision_value : float
        Of the sequence as it is.
    toward : str
        What higher decision values speak for.
    """

    sequence: str
    positions: NDArray[np.int64]
    letters: str
    changes: Matrix
    decision_value: float
    toward: str


class OligomerWeights:
    r"""A decision function over oligo kernels, written as weights of oligomers at positions.

    With coefficients a_i and support vectors x_i, and n(x) the root of k(x, x) (1 without normalisation),

    .. math:: f(z) = b + \frac{1}{n(z)} \sum_q w_{z_q}(q), \qquad
              w_\omega(q) = \lambda_\omega \sum_i \frac{a_i}{n(x_i)} \sum_{p \in S^{x_i}_\omega}
              e^{-(p - q)^2 / (4 \sigma^2)}

    where z_q is the oligomer of z at position q [Glasmachers2008, section 13.2]. Kernels that are sums have a table of
    weights for each of their terms, with a norm of its own.

    Made by :func:`oligomer_weights`. Weights cost n L for n support vectors of L letters, and L^2 for each oligomer;
    what is said of a sequence costs a look-up for each of its oligomers and L^2 for its norm, and for substitutions k
    look-ups and comparisons with all L oligomers, for each letter of the alphabet at each place.

    Attributes
    ----------
    tables : tuple of OligomerTable
        For each length of oligomers.
    intercept : float
        b.
    toward : str
        What higher decision values speak for.
    """

    def __init__(self, terms: list[TermWeights], intercept: float, toward: str) -> None:
        self._terms, self.intercept, self.toward = terms, intercept, toward
        self.tables = tuple(
            OligomerTable(
                one.how.k,
                one.oligomers,
                np.arange(one.low, one.high + 1),
                one.between(one.low, one.high).copy(),
                toward,
            )
            for one in terms
        )

    def heaviest(self, n: int = 10) -> list[Cell]:
        """Return the cells of the largest weights of all tables, the largest first."""
        cells = [cell for table in self.tables for cell in table.heaviest(n)]
        return sorted(cells, key=lambda cell: -cell.weight)[:n]

    def contributions(self, sequence: str) -> Contributions:
        """Say what each letter of a sequence contributes to its decision value.

        Parameters
        ----------
        sequence : str

        Returns
        -------
        Contributions
        """
        z, text, positions = self._read(sequence)
        of_oligomers = tuple(one.contributions(z) for one in self._terms)
        values = np.zeros(len(text))
        for term, found in zip(self._terms, of_oligomers, strict=True):
            for shift in range(term.how.k):
                values[shift : shift + len(found)] += found / term.how.k
        value = self.intercept + sum(float(found.sum()) for found in of_oligomers)
        return Contributions(text, positions, values, of_oligomers, value, self.intercept, self.toward)

    def substitutions(self, sequence: str) -> Substitutions:
        """Say what every single substitution would change about the decision value of a sequence.

        Parameters
        ----------
        sequence : str

        Returns
        -------
        Substitutions
        """
        z, text, positions = self._read(sequence)
        letters = self._terms[0].how.alphabet
        changes = np.zeros((len(text), len(letters)))
        for term in self._terms:
            changes += term.changes(z, text, letters)
        value = self.contributions(sequence).decision_value
        return Substitutions(text, positions, letters, changes, value, self.toward)

    def _read(self, sequence: str) -> tuple[Sequences, str, NDArray[np.int64]]:
        """Return a sequence, its letters without a marker, and their positions."""
        if not isinstance(sequence, str):
            raise TypeError(f"sequence is of type {type(sequence).__name__}; it must be one string.")
        text, zero = located(sequence, self._terms[0].how.origin)
        return Sequences([sequence]), text, np.arange(len(text)) - zero


def oligomer_weights(model: Any, *, function: Any = None) -> OligomerWeights:
    r"""Write a trained model of sequences as weights of oligomers at positions.

    Parameters
    ----------
    model : fitted SVC, NuSVC, SVR, NuSVR or OneClassSVM
        Its kernel is an Oligo, CombinedOligo, WeightedOligo, TripletOligo, a Spectrum without mismatches, or a sum of
        multiples of these. Of a one-class model, weights say what usual sequences look like.
    function : pair of class labels, or class label, optional
        Which decision function, if the model has more than one: the two classes that it tells apart (weights are
        positive for the first), or with ``multi_class="ovr"`` the class that it tells from all others. Of two classes,
        the second of ``classes_`` is the one of positive weights.

    Returns
    -------
    OligomerWeights

    Examples
    --------
    >>> from widemargin import SVC
    >>> from widemargin.inspection import oligomer_weights
    >>> from widemargin.kernels import Oligo
    >>> X = ["ACGTTA", "CCGTAA", "ACATTA", "CCATAA"]
    >>> model = SVC(kernel=Oligo(k=2, sigma=0.5), C=10.0).fit(X, ["cg", "cg", "ca", "ca"])
    >>> weights = oligomer_weights(model)
    >>> [(cell.oligomer, cell.position) for cell in weights.heaviest(2)], weights.toward
    ([('CG', 1), ('GT', 2)], 'class cg')
    >>> found = weights.contributions("ACGTTA")
    >>> bool(abs(found.values.sum() + found.intercept - model.decision_function(["ACGTTA"])[0]) < 1e-9)
    True
    >>> changes = weights.substitutions("ACGTTA").changes  # every position, A C G T
    >>> changes.argmin(axis=None).item() // 4, "ACGT"[changes.argmin(axis=None).item() % 4]
    (2, 'A')
    """
    if not isinstance(model, KernelModel) or isinstance(model, SVDD):
        hint = "; pass its best_estimator_" if hasattr(model, "best_estimator_") else ""
        raise TypeError(
            f"model is of type {type(model).__name__}; a fitted SVC, NuSVC, SVR, NuSVR or OneClassSVM is needed{hint}."
        )
    check_is_fitted(model)
    parts = _read_alike(parts_of(model.kernel_ if callable(model.kernel) else model.kernel))
    functions = model._functions()
    number, sign, toward = _chosen(model, function)
    dual_coef, groups = as_dense(functions.dual_coef), functions._groups()
    coefficients = np.zeros(len(model.support_))
    for row, group in functions.layout.functions[number]:
        coefficients[groups[group]] += sign * dual_coef[row, groups[group]]
    intercept = np.asarray(model.intercept_)[number]
    vectors = Sequences.of(model.support_vectors_)
    return OligomerWeights(
        [TermWeights(part, vectors, coefficients) for part in parts], sign * float(intercept), toward
    )


def _read_alike(parts: list[Part]) -> list[Part]:
    """Refuse sums of kernels that read sequences differently, whose positions or letters have no common meaning."""
    origins = [part.term.reading.origin for part in parts if np.isfinite(part.term.sigma)]
    found = []
    for part in parts:
        how = part.term.reading
        if np.isinf(part.term.sigma) and origins and not isinstance(origins[0], str):
            how = replace(how, origin=origins[0])  # of no consequence where positions do not count
        found.append(replace(part, term=replace(part.term, reading=how)))
    first = found[0].term.reading
    for part in found[1:]:
        other = part.term.reading
        for name in ("alphabet", "origin"):
            if getattr(first, name) != getattr(other, name):
                raise ValueError(
                    f"the kernels of the sum differ in {name}: {getattr(first, name)!r} and {getattr(other, name)!r}; "
                    "tables of weights need the same one."
                )
    return found


def _chosen(model: Any, function: Any) -> tuple[int, float, str]:
    """Return the number of a decision function, the sign by which to multiply it, and what it then speaks for."""
    if not isinstance(model, KernelClassifier):
        if function is not None:
            raise ValueError(
                f"function is {function!r}, but {type(model).__name__} has one decision function; leave it out."
            )
        return 0, 1.0, "a usual sequence" if isinstance(model, NoveltyModel) else "a larger target"
    classes = model.classes_.tolist()
    if model._fitted_scheme == "ovr":
        if function not in classes:
            raise ValueError(
                f"function is {function!r}; with multi_class='ovr' it must be one of the classes {classes!r}."
            )
        return classes.index(function), 1.0, f"class {function}"
    pair = (classes[1], classes[0]) if function is None and len(classes) == 2 else function
    try:
        first, second = (classes.index(label) for label in pair)
    except (TypeError, ValueError):
        first = second = 0
    if first == second:
        raise ValueError(f"function is {function!r}; it must be a pair of two of the classes {classes!r}.")
    number = list(combinations(range(len(classes)), 2)).index((min(first, second), max(first, second)))
    # Two classes have positive values for the second, pairs of more for the first.
    positive = max(first, second) if len(classes) == 2 else min(first, second)
    return number, 1.0 if first == positive else -1.0, f"class {classes[first]}"
