"""The error of the best possible classifier for each generator."""

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import TypeAlias

from widemargin.datasets import breiman, glasmachers
from widemargin.datasets.checks import FloatMatrix, Labels

DataGenerator: TypeAlias = Callable[..., tuple[FloatMatrix, Labels]]

_BAYES_ERRORS: dict[DataGenerator, Callable[..., float]] = {
    glasmachers.chess_board: glasmachers.chess_board_bayes_error,
    glasmachers.noisy_chess_board: partial(glasmachers.chess_board_bayes_error, noise=0.2),
    glasmachers.sparse_coordinates: glasmachers.sparse_coordinates_bayes_error,
    breiman.twonorm: breiman.twonorm_bayes_error,
    breiman.ringnorm: breiman.ringnorm_bayes_error,
    breiman.waveform: breiman.waveform_bayes_error,
}


def bayes_error(generator: DataGenerator | str, **parameters: object) -> float:
    """Return the smallest test error that any classifier can have on a generated problem.

    Parameters
    ----------
    generator : function or str
        A generator of :mod:`widemargin.datasets`, or its name.
    **parameters
        The shape parameters that the generator was called with (not ``n_samples`` and ``random_state``), by the same
        names and with the same defaults.

    Returns
    -------
    error : float
        Exact for the chess boards (noise / 2; the size does not matter), sparse coordinates (counting) and twonorm
        (closed form); to rounding error for ringnorm (noncentral chi-square); to about six digits for waveform
        (two-dimensional quadrature).

    Examples
    --------
    >>> from widemargin.datasets import bayes_error, chess_board, sparse_coordinates
    >>> bayes_error(chess_board, noise=0.25)
    0.125
    >>> bayes_error("sparse_coordinates", n=3, m=14, k=3) == 144 / 1026
    True
    """
    by_name = {known.__name__: known for known in _BAYES_ERRORS}
    known = by_name.get(generator) if isinstance(generator, str) else generator
    if known not in _BAYES_ERRORS:
        raise ValueError(
            f"generator must be one of {', '.join(by_name)} (the function or its name), got {generator!r}."
        )
    error = _BAYES_ERRORS[known]
    accepted = signature(error).parameters
    unknown = [name for name in parameters if name not in accepted]
    if unknown:
        choice = f"only {', '.join(accepted)}" if accepted else "none"
        raise TypeError(f"The Bayes error of {known.__name__} takes {choice} as parameters, got {unknown[0]!r}.")
    return error(**parameters)
