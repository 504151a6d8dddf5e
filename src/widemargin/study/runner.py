"""The one runner of candidates: propose, evaluate, record, show, stop, go on where a journal ends.

Who proposes says what comes next and how that is evaluated (the chains of a grid by workers, the points of a strategy
by an objective); everything else is the same for all searches and lives here and in
:mod:`widemargin.study.findings`.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from typing import NamedTuple, Protocol, TypeVar

from widemargin.runtime import FAILED, FINISHED, INTERRUPTED, TIME_IS_UP, Stop, StoppedError
from widemargin.study.findings import Finding, Findings
from widemargin.study.progress import Progress

Proposal = TypeVar("Proposal")


class Proposer(Protocol[Proposal]):
    """What a search asks for, a batch at a time."""

    @property
    def expected(self) -> int | None:
        """How many evaluations there will be, if anybody knows."""

    @property
    def unfinished(self) -> str | None:
        """Why less was evaluated than was to be, once there is nothing to propose; None if nothing is missing."""

    @property
    def reason(self) -> str:
        """Why the search ended, in words."""

    def propose(self) -> Proposal:
        """Return the next batch; an empty one at the end."""

    def evaluate(self, batch: Proposal, findings: Findings) -> None:
        """Evaluate a batch, but for what is known, hand over what was found, and check what became of it."""

    def close(self) -> None:
        """Let whoever evaluates go; what they hand over until then still counts."""


class Ended(NamedTuple):
    """Why a search ended, in words, and whether that was before its time."""

    why: str
    cut_short: bool


def run(
    proposer: Proposer[Proposal],
    findings: Findings,
    stop: Stop,
    progress: Progress | None = None,
    known: Iterable[Finding] | None = None,
) -> Ended:
    """Run a search to its end, or to that of time.

    Parameters
    ----------
    proposer : Proposer
    findings : Findings
    stop : Stop
    progress : Progress, optional
    known : iterable of Finding, optional
        What needs no evaluation and counts from the beginning.
    """
    if progress is not None:
        progress.start(proposer.expected)
    shown = FAILED
    try:
        try:
            if known is not None:
                findings.know(known)
            with findings, closing(proposer):
                while batch := proposer.propose():
                    proposer.evaluate(batch, findings)
                    if stop.signal.reason is not None:
                        break
        except StoppedError:  # models that run out of time say so before anybody has asked them to
            stop.request(stop.reason or TIME_IS_UP)
            shown = str(stop.reason)
            return Ended(shown, True)
        # Workers that are let go end with what they are at: that is no end before its time.
        asked = None if stop.signal.reason == FINISHED else stop.signal.reason
        shown = asked or proposer.unfinished or FINISHED
        return Ended(proposer.reason, False) if shown == FINISHED else Ended(shown, True)
    except KeyboardInterrupt:
        stop.request(INTERRUPTED)
        shown = INTERRUPTED
        return Ended(shown, True)
    finally:
        if progress is not None:
            progress.finish(shown)
