"""A search as it runs: the runner, its journal, what it shows meanwhile, and who is told.

Imports ``strategies``, ``objectives``, ``kernels`` and ``runtime``; knows nothing of estimators.
"""

from widemargin.study.callbacks import EvaluationTasks, SearchTasks, with_callbacks
from widemargin.study.identity import fingerprint
from widemargin.study.journal import Journal, JournalError, journal_of
from widemargin.study.journal_part import JournalPart, Records
from widemargin.study.progress import LogProgress, Progress, SilentProgress, progress_for
from widemargin.study.trace import Trace
from widemargin.study.writer import JournalWriter

__all__ = [
    "EvaluationTasks",
    "Journal",
    "JournalError",
    "JournalPart",
    "JournalWriter",
    "LogProgress",
    "Progress",
    "Records",
    "SearchTasks",
    "SilentProgress",
    "Trace",
    "fingerprint",
    "journal_of",
    "progress_for",
    "with_callbacks",
]
