"""A search as scikit-learn's callbacks see it (scikit-learn 1.9 or later; with earlier ones nobody is told anything).

The tree of tasks is the one of scikit-learn's own ``GridSearchCV``, under the same names, so that a callback written
for that class works here: ``fit``, and below it ``search``, with one ``candidate-split-evaluation`` for each model,
and ``refit-with-best-params``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from types import TracebackType
from typing import Any, Self

from widemargin.runtime.callbacks import with_callbacks

__all__ = ["EvaluationTasks", "SearchTasks", "with_callbacks"]


class SearchTasks:
    """The task of a whole search, to be entered within a fit method decorated by :func:`with_callbacks`.

    Parameters
    ----------
    search : estimator
        Whose fit this is. Those without callback support (scikit-learn before 1.9) are passed over.
    X, y
        What the search was given.
    refit : bool
        Whether a refit will follow the search.
    sample_weight : array-like, optional

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.svm import SVC
    >>> from widemargin.study import SearchTasks, with_callbacks
    >>> class Search(GridSearchCV):
    ...     @with_callbacks
    ...     def fit(self, X, y):
    ...         with SearchTasks(self, X, y, refit=True) as tasks:
    ...             with tasks.search(evaluations=2) as evaluations:
    ...                 for number in range(2):
    ...                     stop = evaluations.end(number)
    ...             self.best_estimator_ = self.estimator
    ...             with tasks.refit(self.best_estimator_):
    ...                 self.best_estimator_.fit(X, y)
    ...         return self
    >>> Search(SVC(), {"C": [1, 2]}).fit(*load_iris(return_X_y=True)).best_estimator_
    SVC()
    """

    def __init__(self, search: Any, X: Any, y: Any, *, refit: bool, sample_weight: Any = None) -> None:
        self._estimator = search
        self._tasks = 1 + bool(refit)
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._data: dict[str, Any] = {"X": X, "y": y, "metadata": metadata}
        self._context: Any = None

    def __enter__(self) -> Self:
        if hasattr(self._estimator, "_init_callback_context"):
            self._context = self._estimator._init_callback_context(max_subtasks=self._tasks)
            self._context.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator, **self._data)

    @contextmanager
    def search(self, evaluations: int | None) -> Iterator[EvaluationTasks]:
        """Enter the task of the search proper.

        Parameters
        ----------
        evaluations : int or None
            How many evaluations (of a candidate on a fold, say) are tasks of their own; None if nobody knows.

        Yields
        ------
        EvaluationTasks
        """
        if self._context is None:
            yield EvaluationTasks(self._estimator, None)
            return
        context = self._context.subcontext(task_name="search", max_subtasks=evaluations, sequential_subtasks=False)
        context.call_on_fit_task_begin(estimator=self._estimator)
        yield EvaluationTasks(self._estimator, context)
        context.call_on_fit_task_end(estimator=self._estimator)

    @contextmanager
    def refit(self, best: Any) -> Iterator[None]:
        """Enter the task of the final fit.

        Parameters
        ----------
        best : estimator
            What will be fitted. Where it supports callbacks itself, it is handed those that are meant to be passed on.

        Yields
        ------
        None
        """
        if self._context is None:
            yield
            return
        context = self._context.subcontext(task_name="refit-with-best-params")
        handed_on = context.propagate_callback_context(best) if hasattr(best, "set_callbacks") else nullcontext()
        with handed_on:
            context.call_on_fit_task_begin(estimator=self._estimator, **self._data)
            yield
        context.call_on_fit_task_end(estimator=self._estimator, **self._data)


class EvaluationTasks:
    """The evaluations of a search. Calls come from the process of the search, not from its workers; any thread will do.

    Parameters
    ----------
    search : estimator
    context : CallbackContext or None
        That of the search.

    Attributes
    ----------
    anybody_listens : bool
        Whether there is a callback to tell.
    """

    def __init__(self, search: Any, context: Any) -> None:
        self._estimator = search
        # Without anybody listening there is no need for thousands of contexts.
        self._parent = context if getattr(search, "_skl_callbacks", None) else None
        self.anybody_listens = self._parent is not None
        self._running: dict[int, tuple[Any, dict[str, Any]]] = {}

    def begin(self, number: int, X: Any = None, y: Any = None, sample_weight: Any = None) -> None:
        """Tell that an evaluation begins.

        Parameters
        ----------
        number : int
            Which one: the candidate's number times the number of splits plus the split's, as scikit-learn counts them.
        X, y, sample_weight : array-like or callable, optional
            What it is trained on; a callable that returns it is called only if somebody wants to see it.
        """
        if self._parent is None:
            return
        data = {"X": X, "y": y, "metadata": None if sample_weight is None else partial(_metadata, sample_weight)}
        context = self._parent.subcontext(task_name="candidate-split-evaluation", task_id=number)
        self._running[number] = (context, data)
        context.call_on_fit_task_begin(estimator=self._estimator, **data)

    def end(self, number: int, X: Any = None, y: Any = None, sample_weight: Any = None) -> bool:
        """Tell that an evaluation has ended; if nobody was told that it began, tell that first.

        Parameters
        ----------
        number, X, y, sample_weight
            As for :meth:`begin`; the last three only count where that was not called.

        Returns
        -------
        bool
            Whether a callback asks the search to stop here. (scikit-learn's own search does not listen to that.)
        """
        if self._parent is None:
            return False
        if number not in self._running:
            self.begin(number, X, y, sample_weight)
        context, data = self._running.pop(number)
        return bool(context.call_on_fit_task_end(estimator=self._estimator, **data))


def _metadata(sample_weight: Any) -> dict[str, Any]:
    return {"sample_weight": sample_weight() if callable(sample_weight) else sample_weight}
