"""Groups of samples that belong together (genes, patients): splits that never put one of them on both sides."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

from widemargin.objectives.base import Ids

#: Draws after which a split with all classes in its training set is built instead.
PATIENCE = 100


def group_numbers(groups: Any, n_samples: int) -> Ids:
    """Return the numbers 0, 1, ... of the groups of samples, in the order in which their names come first.

    Examples
    --------
    >>> group_numbers(["lacZ", "recA", "lacZ"], 3).tolist()
    [0, 1, 0]
    """
    try:
        names = np.asarray(groups).tolist() if hasattr(groups, "__array__") else list(groups)
    except TypeError:
        raise TypeError(
            f"groups must hold a name for each of the {n_samples} samples; got {type(groups).__name__}."
        ) from None
    if len(names) != n_samples:
        raise ValueError(f"groups holds {len(names)} names for {n_samples} samples; it must hold one for each.")
    known: dict[Any, int] = {}
    found = np.empty(n_samples, dtype=np.intp)
    for row, name in enumerate(names):
        try:
            # What is missing is not equal to itself; pandas's own kind of it has no truth value.
            missing = name is None or not bool(name == name)
            number = known.setdefault(name, len(known))
        except TypeError:
            raise ValueError(
                f"groups[{row}] is {name!r}; each must be one name, such as a number or a string."
            ) from None
        if missing:
            raise ValueError(f"groups[{row}] is {name!r}; every sample needs a group, if need be one of its own.")
        found[row] = number
    if len(known) < 2:
        raise ValueError(f"groups has {len(known)} different name; at least two are needed to hold one out.")
    return found


def group_folds(folds: int, groups: Ids, name: str, classes: bool, random_state: int = 0) -> Any:
    """Return a splitter into folds of whole groups, with the shares of classes kept as well as they allow.

    Parameters
    ----------
    folds : int
    groups : ndarray of int
    name : str
        What errors call the number of folds.
    classes : bool
        Whether there are any.
    random_state : int, default=0
    """
    n_groups = len(np.unique(groups))
    if not 2 <= folds <= n_groups:
        raise ValueError(f"{name} must be from 2 to {n_groups}, the number of groups.")
    kind = StratifiedGroupKFold if classes else GroupKFold
    return kind(folds, shuffle=True, random_state=random_state)


def folds_of(splitter: Any, X: Any, y: Any, groups: Any) -> list[tuple[Ids, Ids]]:
    """Return the folds of any splitter; one that does not look at groups need not warn, since its folds are checked."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The groups parameter is ignored", category=UserWarning)
        return list(splitter.split(X, y, groups=groups))


def require_whole_groups(folds: Sequence[tuple[Ids, Ids]], groups: Ids, name: str) -> None:
    """Refuse folds that have samples of a group on both sides.

    Examples
    --------
    >>> require_whole_groups([(np.array([0, 1]), np.array([2]))], np.array([0, 1, 1]), "cv=KFold()")
    Traceback (most recent call last):
    ...
    ValueError: cv=KFold() has samples 1 and 2, of the same group, on both sides of fold 0; pass a number of folds, \
or a splitter of groups such as GroupKFold.
    """
    for number, (train, test) in enumerate(folds):
        both = np.intersect1d(groups[train], groups[test])
        if len(both):
            one, other = (rows[groups[rows] == both[0]][0] for rows in (np.asarray(train), np.asarray(test)))
            raise ValueError(
                f"{name} has samples {one} and {other}, of the same group, on both sides of fold {number}; pass a "
                "number of folds, or a splitter of groups such as GroupKFold."
            )


def require_classes(folds: Sequence[tuple[Ids, Ids]], labels: NDArray[Any], name: str) -> None:
    """Refuse folds that hold out all samples of a class, or none at all; `labels` are class numbers.

    Examples
    --------
    >>> require_classes([(np.array([0, 1]), np.array([2]))], np.array([0, 0, 1]), "cv=2")
    Traceback (most recent call last):
    ...
    ValueError: cv=2 holds out all samples of class number 1 in fold 0, whose groups are all there; pass fewer folds, \
or smaller groups.
    """
    present = np.unique(labels)
    for number, (train, test) in enumerate(folds):
        missing = np.setdiff1d(present, labels[train])
        if len(missing):
            raise ValueError(
                f"{name} holds out all samples of class number {missing[0]} in fold {number}, whose groups are all "
                "there; pass fewer folds, or smaller groups."
            )
        if not len(test):
            raise ValueError(f"{name} holds no samples out in fold {number}; pass fewer folds, or smaller groups.")


def split_groups(
    groups: Ids, labels: NDArray[np.intp], share: float, generator: np.random.Generator
) -> tuple[Ids, Ids]:
    """Draw a training set of floor((1 - share) g) of g groups, at least one: any with all classes in it.

    Each such set is as likely as others. Where a hundred draws find none, groups are held out one after the other, in
    random order, as long as all classes stay; that may be fewer.

    Parameters
    ----------
    groups, labels : ndarray of int
        Of the samples; labels are class numbers, all the same for regression.
    share : float
        Share of the groups that is held out.
    generator : numpy.random.Generator

    Returns
    -------
    train, test : ndarray of int
        Samples, in order.

    Examples
    --------
    >>> groups = np.array([0, 0, 1, 1, 2, 2])
    >>> train, test = split_groups(groups, np.array([0, 1, 0, 1, 0, 1]), 0.3, np.random.default_rng(0))
    >>> groups[train].tolist(), groups[test].tolist()
    ([0, 0, 2, 2], [1, 1])
    """
    names, own = np.unique(groups, return_inverse=True)
    if len(names) < 2:
        raise ValueError("All samples of weight above 0 are of one group; at least two are needed to hold one out.")
    present, classes = np.unique(labels, return_inverse=True)
    table = np.zeros((len(names), len(present)), dtype=np.intp)
    np.add.at(table, (own, classes), 1)
    size = min(max(int((1.0 - share) * len(names) + 1e-9), 1), len(names) - 1)
    for _ in range(PATIENCE):
        held_out = generator.permutation(len(names))[size:]
        if (table.sum(axis=0) > table[held_out].sum(axis=0)).all():
            break
    else:
        held_out = _held_out_one_by_one(table, len(names) - size, generator)
    aside = np.isin(own, held_out)
    return np.flatnonzero(~aside), np.flatnonzero(aside)


def _held_out_one_by_one(table: NDArray[np.intp], wanted: int, generator: np.random.Generator) -> Ids:
    found: list[int] = []
    left = table.sum(axis=0)
    for group in generator.permutation(len(table)):
        if len(found) < wanted and (left > table[group]).all():
            left = left - table[group]
            found.append(int(group))
    if not found:
        raise ValueError(
            "No group can be held out: each of them has all samples of a class; some class must have samples in "
            "several groups."
        )
    return np.array(found, dtype=np.intp)
