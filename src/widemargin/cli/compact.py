"""``widemargin select --compact``: choose a small model for a table."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from widemargin.cli.feature_costs import feature_costs, feature_names, named_cost
from widemargin.cli.messages import MISUSED, CommandError, Facts, progress_bar
from widemargin.cli.options import penalty
from widemargin.datasets import Table
from widemargin.model_selection.compact import CompactSVC
from widemargin.model_selection.compact.compact_svc import CALIBRATED, DECISIONS
from widemargin.model_selection.compact.search import CompactModel
from widemargin.model_selection.grid.results import UnfinishedSearchWarning
from widemargin.runtime import INTERRUPTED, TIME_IS_UP
from widemargin.study import JournalError
from widemargin.study.progress import duration

#: Features, and classes, that are shown.
MOST_NAMES = 8

#: Options that mean something together with --compact only, and what they are without.
OWN_OPTIONS: dict[str, Any] = {
    "penalty": None,
    "sv_penalty": None,
    "feature_penalty": None,
    "cost": [],
    "costs": None,
    "keep_features": False,
    "decision": None,
}

#: Those of features that may be left out.
OF_SELECTION = ("feature_penalty", "cost", "costs")

#: The penalty of both, if none is given.
PENALTY = 0.01


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--compact",
        action="store_true",
        help="choose a small, fast classifier: few support vectors and few features",
    )
    parser.add_argument(
        "--penalty",
        type=penalty,
        metavar="P",
        help="with --compact: recognition rate that twice as many support vectors, or features, have to bring "
        f"(default: {PENALTY})",
    )
    for name, what in (("sv", "support vectors"), ("feature", "features")):
        parser.add_argument(
            f"--{name}-penalty", type=penalty, metavar="P", help=f"with --compact: the penalty for {what} only"
        )
    parser.add_argument(
        "--cost",
        action="append",
        type=named_cost,
        default=[],
        metavar="NAME=COST",
        help="with --compact: what a feature costs to obtain, in any unit (default: 1); may be given repeatedly. That "
        "of an encoded column is the cost of each of its features",
    )
    parser.add_argument(
        "--costs", type=Path, metavar="FILE", help="with --compact: a CSV file with a feature and its cost in each line"
    )
    parser.add_argument(
        "--decision",
        choices=DECISIONS,
        help=f"with --compact: how one of more than two classes is chosen (default: {CALIBRATED})",
    )
    parser.add_argument("--keep-features", action="store_true", help="with --compact: use all features")


def require_together(arguments: argparse.Namespace, regression: bool, table: Table) -> None:
    """Refuse options that do not go together, or not with the table."""
    if not arguments.compact:
        for name, default in OWN_OPTIONS.items():
            if getattr(arguments, name) != default:
                raise CommandError(f"{_option(name)} goes with --compact only", MISUSED)
        return
    without = [name for name in OF_SELECTION if getattr(arguments, name) != OWN_OPTIONS[name]]
    if arguments.keep_features and without:
        raise CommandError(
            f"{_option(without[0])} has no effect with --keep-features, which leaves nothing to choose", MISUSED
        )
    if arguments.penalty is not None and None not in (arguments.sv_penalty, arguments.feature_penalty):
        raise CommandError("--penalty has no effect beside both --sv-penalty and --feature-penalty", MISUSED)
    if regression:
        raise CommandError(
            "--compact chooses classifiers, but the target is numeric; leave it out, or add --task classification",
            MISUSED,
        )
    if arguments.cv is not None:
        raise CommandError("--cv does not go with --compact, which sets a third of the samples aside instead", MISUSED)
    if arguments.decision is not None and len(np.unique(np.asarray(table.y))) == 2:
        raise CommandError("--decision has no effect with two classes, which one function tells apart", MISUSED)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def chosen(arguments: argparse.Namespace, table: Table) -> tuple[CompactSVC, Facts]:
    """Choose a model, and say what was chosen."""
    both = PENALTY if arguments.penalty is None else arguments.penalty
    model = CompactSVC(
        sv_penalty=both if arguments.sv_penalty is None else arguments.sv_penalty,
        feature_penalty=both if arguments.feature_penalty is None else arguments.feature_penalty,
        feature_costs=feature_costs(arguments.cost, arguments.costs, table),
        decision=arguments.decision or CALIBRATED,
        select_features=not arguments.keep_features,
        max_time=arguments.max_time,
        journal=arguments.journal,
        random_state=0,
        n_jobs=arguments.n_jobs,
        progress=progress_bar(arguments.quiet),
    )
    warnings.simplefilter("ignore", UnfinishedSearchWarning)  # what is printed says so
    try:
        model.fit(table.X, table.y)
    except TimeoutError:
        given = f"{arguments.max_time:g}"
        raise CommandError(f"--max-time {given} is too short: not every class has a model; allow more") from None
    except (JournalError, ValueError) as problem:
        raise CommandError(str(problem)) from None
    return model, described(model, table)


def described(model: CompactSVC, table: Table) -> Facts:
    """Say in a few lines what was chosen, how good it is, and what it took."""
    n_samples, d = table.X.shape
    names = feature_names(table)
    used = [names[number] for number in model.selected_features_]
    vectors = int(model.n_support_.sum())
    return [
        ("data", f"{counted(n_samples, 'sample')}, {counted(d, 'feature')}, {len(model.classes_)} classes"),
        (
            "model",
            f"CompactSVC, Gaussian kernel, standardised features: {counted(vectors, 'support vector')}, "
            f"{len(used):,} of {counted(d, 'feature')}",
        ),
        ("features", shortened(used)),
        *([("classes", shortened([_summary(one) for one in model.models_]))] if len(model.models_) > 1 else []),
        (
            "score",
            f"balanced recognition rate {model.recognition_rate_:.4f} on {counted(len(model.split_.test), 'sample')} "
            f"set aside; a single class alone has {1 / len(model.classes_):.4f}",
        ),
        ("quality", f"{model.quality_:.4f} on {counted(len(model.split_.validation), 'sample')} that chose the model"),
        *([("front", _front(model.front_))] if len(model.models_) == 1 else []),
        ("cost", _cost(model)),
        ("work", _work(model)),
    ]


def beats_chance(model: CompactSVC, table: Table) -> bool:
    """Whether the recognition rate is better than that of a single class by more than two standard errors.

    That of the mean over k classes is taken from k binomial ones with the same rate.
    """
    rate, k = model.recognition_rate_, len(model.classes_)
    counts = np.unique(np.asarray(table.y)[model.split_.test], return_counts=True)[1]
    return bool(rate - 1 / k > 2 * np.sqrt(rate * (1 - rate) * np.sum(1 / counts)) / k)


def counted(number: int, noun: str) -> str:
    """Say how many there are of something.

    Examples
    --------
    >>> counted(1, "feature"), counted(1200, "feature")
    ('1 feature', '1,200 features')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shortened(names: list[str]) -> str:
    """List the first of some names.

    Examples
    --------
    >>> shortened(["a", "b"]), shortened(list("abcdefghij"))
    ('a, b', 'a, b, c, d, e, f, g, h and 2 more')
    """
    listed = ", ".join(names[:MOST_NAMES])
    return f"{listed} and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else listed


def _summary(one: CompactModel) -> str:
    vectors, features = counted(one.n_support, "support vector"), counted(len(one.features), "feature")
    return f"{one.label} ({vectors}, {features})"


def _front(front: Any) -> str:
    """Say how far the models reach that the search came by, from the smallest to the most accurate."""
    smallest = np.lexsort((front["feature_cost"], front["support_vectors"]))[0]
    ends = [
        f"{counted(one['support_vectors'], 'support vector')} and {counted(one['n_features'], 'feature')} with a rate "
        f"of {one['recognition_rate']:.4f}"
        for one in front[[smallest, 0]]
    ]
    if len(front) == 1:
        return f"no other model is smaller or more accurate on the samples that chose it: {ends[0]}"
    return f"{len(front):,} models that no other beats on the samples that chose: {ends[0]} to {ends[1]}"


def _cost(model: CompactSVC) -> str:
    computed = f"{counted(model.cost_, 'multiplication')} for a prediction"
    if model.feature_costs is None:
        return computed
    costs = np.asarray(model.feature_costs)
    own, all_of_them = costs[model.selected_features_].sum(), costs.sum()
    return f"{computed}; its features cost {own:,.10g}, all features {all_of_them:,.10g}"


def _work(model: CompactSVC) -> str:
    work = model.work_report_
    seconds = f"{work.seconds:.2f} s" if work.seconds < 10 else duration(work.seconds)
    early = sorted({one.ended for one in model.models_} & {TIME_IS_UP, INTERRUPTED})
    return f"{counted(work.evaluations, 'evaluation')}{f', not finished ({early[0]})' if early else ''}; {seconds}"
