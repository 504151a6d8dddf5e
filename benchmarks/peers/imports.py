"""Imports: the processor time of a fresh interpreter, beside that of importing what scikit-learn offers for the same.

Processor time, of all threads, hardly depends on what else the computer does, and little on where the files come from.
"""

import subprocess
import sys
from dataclasses import dataclass
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

from benchmarks.peers.session import Options, Verdict, announce, save, summary
from benchmarks.peers.table import indent, number, render

REFERENCE = "scikit-learn"
STATEMENTS = {
    "package": "import widemargin",
    "names": "from widemargin import SVC, GridSearchCV",
    "help": "import sys; sys.argv = ['widemargin', '--help']; from widemargin.cli import main; main()",
    REFERENCE: "import sklearn.svm, sklearn.model_selection",
}
ABOVE_REFERENCE = 0.1
HELP_SECONDS = 0.3


@dataclass(frozen=True)
class Result:
    """The median seconds of every statement, and what follows for widemargin."""

    seconds: dict[str, float]
    judged: dict[str, Verdict]

    def verdicts(self) -> dict[str, Verdict]:
        """Return the verdicts by statement."""
        return self.judged

    def table(self) -> str:
        """Render a line per statement."""
        theirs = self.seconds.get(REFERENCE)
        rows = [
            [name, f"{value:.3f}", number(None if theirs is None else value - theirs, "+.3f"), STATEMENTS[name]]
            for name, value in self.seconds.items()
        ]
        return render(["what", "seconds", f"- {REFERENCE}", "statement"], rows)


def import_command(options: Options) -> Result:
    """Run every statement in interpreters of its own, in turns."""
    announce()
    runs: dict[str, list[float]] = {name: [] for name in options.problems}
    for name in options.problems:
        processor_seconds(STATEMENTS[name])  # the first run compiles modules and reads them from the disk
    for _ in range(options.repeats):
        for name, found in runs.items():
            found.append(processor_seconds(STATEMENTS[name]))
    seconds = {name: median(found) for name, found in runs.items()}
    result = Result(seconds, judge(seconds))
    print(f"\nprocessor time, median of {options.repeats} alternating runs\n{indent(result.table())}")
    save(options.record, "import", options, [result])
    print("\n" + summary(result.verdicts()))
    return result


def processor_seconds(statement: str) -> float:
    """Return the processor time of an interpreter that executes a statement."""
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", statement], check=True, stdout=subprocess.DEVNULL)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def judge(seconds: dict[str, float]) -> dict[str, Verdict]:
    """Compare imports with scikit-learn's, and the help with a number of seconds."""
    judged = {}
    for name, value in seconds.items():
        if name == REFERENCE:
            continue
        if name == "help":
            allowed, limit = HELP_SECONDS, f"{HELP_SECONDS:g} s"
        elif REFERENCE in seconds:
            allowed = seconds[REFERENCE] + ABOVE_REFERENCE
            limit = f"{REFERENCE} + {ABOVE_REFERENCE:g} = {allowed:.3g} s"
        else:
            judged[name] = Verdict(None, f"no time of {REFERENCE}")
            continue
        judged[name] = Verdict(value <= allowed, f"{value:.3g} s, allowed {limit}")
    return judged
