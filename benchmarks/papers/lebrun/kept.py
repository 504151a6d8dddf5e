"""Models of [Lebrun2006, Table 3] that are kept in a folder: what is finished is not done again, a cut search goes on.

Every model has a file of its own, NAME.json, and its search a journal, NAME.jsonl; NAME.began says when the search
that wrote to the journal last began, so that the time of one that was killed counts too. Processes with different
models may share a folder.
"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.papers.lebrun.problems import Problem, compact
from widemargin.runtime import INTERRUPTED, TIME_IS_UP


class Wanted(NamedTuple):
    """A model to choose: its name, penalties, split and the options of the search."""

    name: str
    penalty: float
    features: bool
    seed: int
    options: dict[str, Any]


class Chosen(NamedTuple):
    """What was chosen, and how the search ended."""

    seconds: float
    level: int
    n_support: int
    n_features: int
    rate: float
    quality: float
    evaluations: int
    ended: str

    @property
    def numbers(self) -> tuple[float, ...]:
        """All but how the search ended."""
        return self[:-1]

    @property
    def cut_short(self) -> bool:
        """Whether the search would have gone on."""
        return self.ended in (TIME_IS_UP, INTERRUPTED)

    def in_words(self) -> str:
        """Describe it in a line."""
        return (
            f"{self.seconds:.1f} s, k {self.level}, {self.n_support} support vectors, {self.n_features} features, "
            f"rate {self.rate:.4f}, quality {self.quality:.4f}, {self.evaluations:,} evaluations ({self.ended})"
        )


class Kept:
    """The models of a folder; of none, nothing is kept.

    Parameters
    ----------
    folder : Path or None
        It is made if it does not exist.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def known(self, name: str) -> Chosen | None:
        """Return a model that is finished, or as far as it has come."""
        path = self._path(name, "json")
        return Chosen(**json.loads(path.read_text())) if path is not None and path.exists() else None

    def model(self, problem: Problem, wanted: Wanted) -> Chosen:
        """Choose a model, unless it is finished; KeyboardInterrupt, with what there is kept, if it was interrupted."""
        known = self.known(wanted.name)
        if known is not None and not known.cut_short:
            return known
        journal, began = self._path(wanted.name, "jsonl"), self._path(wanted.name, "began")
        before = 0.0 if known is None else known.seconds
        if journal is not None and began is not None:
            before = _seconds_of_killed(journal, began) if began.exists() else before
            began.write_text(json.dumps([before, time.time()]))
        how = {"features": wanted.features, "seed": wanted.seed, "journal": journal}
        model, seconds = compact(problem, wanted.penalty, **how, **wanted.options)
        own = model.models_[0]
        chosen = Chosen(
            before + seconds,
            own.level,
            own.n_support,
            len(own.features),
            float(model.recognition_rate_),
            float(model.quality_),
            int(model.n_evaluations_),
            own.ended,
        )
        self._keep(wanted.name, chosen)
        if chosen.ended == INTERRUPTED:
            raise KeyboardInterrupt
        return chosen

    def _keep(self, name: str, chosen: Chosen) -> None:
        path, began = self._path(name, "json"), self._path(name, "began")
        if path is not None and began is not None:
            half = path.with_suffix(".part")
            half.write_text(json.dumps(chosen._asdict()))
            half.replace(path)
            began.unlink(missing_ok=True)

    def _path(self, name: str, kind: str) -> Path | None:
        if self._folder is None:
            return None
        return self._folder / f"{re.sub(r'[^a-z0-9.]+', '-', name.lower()).strip('-')}.{kind}"


def _seconds_of_killed(journal: Path, began: Path) -> float:
    """Return the seconds of all searches until one that was killed, which ended when it last wrote."""
    before, when = json.loads(began.read_text())
    return float(before + max(journal.stat().st_mtime - when, 0.0)) if journal.exists() else float(before)
