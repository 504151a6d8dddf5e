"""What a journal holds of a search, as evaluations again; what does not fit the search is refused."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

from widemargin.model_selection.grid.setup import Evaluation
from widemargin.study import Records
from widemargin.study.records import COUNT, NUMBER, TRUTH, Kind, a_number_below, what_is_wrong

#: Version of what a search writes into its journal; it changes when the fields of an evaluation do, or their meaning.
RECORD_SCHEMA = 1


def evaluations(journal: Records | None, n_candidates: int, n_splits: int) -> list[Evaluation]:
    """Return the evaluations that a journal holds.

    Parameters
    ----------
    journal : Journal, JournalPart or None
        None holds nothing.
    n_candidates, n_splits : int
        Of the search that is to go on from there.

    Raises
    ------
    JournalError
        If a record is none that this search could have written, with its line.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from widemargin.study import Journal
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Journal(Path(folder.name) / "study.jsonl", {}) as journal:
    ...     journal.append(vars(Evaluation(1, 0, 0.9, None, 20, 0.01, 0.0)))
    ...     [(one.candidate, one.test_scores) for one in evaluations(journal, n_candidates=2, n_splits=3)]
    [(1, 0.9)]
    >>> folder.cleanup()
    """
    found: list[Evaluation] = []
    if journal is None:
        return found
    kinds = _kinds(n_candidates, n_splits)
    metrics: tuple[Any, Any] | None = None
    for number, record in enumerate(journal.records):
        wrong = _what_is_wrong(record, kinds)
        if wrong is None and record["fit_error"] is None:
            own = _metrics(record["test_scores"]), _metrics(record["train_scores"])
            metrics = own if metrics is None else metrics
            if own != metrics:
                wrong = "which has scores by other metrics than the lines before"
        if wrong is not None:
            journal.refuse(number, wrong)
        found.append(Evaluation(**record))
    return found


def _what_is_wrong(record: Mapping[str, Any], kinds: Mapping[str, Kind]) -> str | None:
    """Say what keeps a record from being an evaluation, if anything does."""
    wrong = what_is_wrong(record, kinds, "evaluations")
    if wrong is not None:
        return wrong
    failed, has_scores = record["fit_error"] is not None, record["test_scores"] is not None
    if failed == has_scores:
        return f"which holds {'both' if failed else 'neither'} scores {'and' if failed else 'nor'} an error"
    return None


def _kinds(n_candidates: int, n_splits: int) -> dict[str, Kind]:
    """Say what belongs into each field."""
    scores: Kind = "a number, numbers by name, or null", _are_scores
    return {
        "candidate": a_number_below(n_candidates),
        "split": a_number_below(n_splits),
        "test_scores": scores,
        "train_scores": scores,
        "n_test_samples": COUNT,
        "fit_time": NUMBER,
        "score_time": NUMBER,
        "fit_error": ("a text or null", lambda value: value is None or isinstance(value, str)),
        "iterations": COUNT,
        "repeated": TRUTH,
        "converged": TRUTH,
        "kernel_evaluations": COUNT,
    }


def _are_scores(value: Any) -> bool:
    if isinstance(value, dict):
        return len(value) > 0 and all(isinstance(one, numbers.Real) for one in value.values())
    return value is None or isinstance(value, numbers.Real)


def _metrics(scores: Any) -> Any:
    """Name the metrics of some scores: none at all, one without a name, or several."""
    return set(scores) if isinstance(scores, dict) else scores is not None
