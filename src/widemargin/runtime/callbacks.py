"""Fits as scikit-learn's callbacks see them (scikit-learn 1.9 or later; with earlier ones nobody is told anything)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:
    CallbackSupportMixin = object
    _with_callbacks = None

#: Has ``set_callbacks``, for estimators to inherit from, last; nothing where scikit-learn has no callbacks.
CallbackSupport: Any = CallbackSupportMixin

Method = TypeVar("Method", bound=Callable[..., Any])


def with_callbacks(fit: Method) -> Method:
    """Decorate a fit method, so that callbacks are told when it has ended, however it ends.

    Parameters
    ----------
    fit : method

    Returns
    -------
    method
        The same where scikit-learn has no callbacks. A nested fit of scikit-learn, through ``super()``, does no harm.
    """
    managed: Method = fit if _with_callbacks is None else _with_callbacks(fit)
    return managed


def is_awaited(estimator: Any) -> bool:
    """Whether an estimator has callbacks that wait for its fit to begin.

    Examples
    --------
    >>> from widemargin import SVC
    >>> is_awaited(SVC())
    False
    """
    known = vars(estimator)
    return "_skl_callbacks" in known and "_callback_fit_ctx" not in known


@contextmanager
def fit_task(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Iterator[None]:
    """Tell the callbacks of an estimator when its fit begins and when it has ended: a task without parts.

    A decorator would be one more frame between ``fit`` and who called it, whom warnings point at. So a fit begins with
    these lines, and does its work in a second call of itself, where :func:`is_awaited` says no.

    Examples
    --------
    >>> class Model:
    ...     def fit(self, X, y):
    ...         if is_awaited(self):
    ...             with fit_task(self, X, y):
    ...                 return self.fit(X, y)
    ...         return self
    >>> model = Model()
    >>> model.fit([[0.0]], [0]) is model
    True
    """
    metadata = None if sample_weight is None else {"sample_weight": sample_weight}
    data: dict[str, Any] = {"X": X, "y": y, "metadata": metadata}
    try:
        context = estimator._init_callback_context()
        context.call_on_fit_task_begin(estimator=estimator, **data)
        yield
        context.call_on_fit_task_end(estimator=estimator, **data, reconstruction_attributes={})
    finally:
        with_callbacks(_nothing)(estimator)


def _nothing(estimator: Any) -> None:
    """Do what a fit does that has ended."""
