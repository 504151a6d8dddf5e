"""How solves ended: back from a file field by field, and refused if anything is no end."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import pytest

from widemargin.estimators.report import ProblemReport
from widemargin.machines.dual import Outcome
from widemargin.persistence.archive import Fields, ModelFileError, to_json
from widemargin.persistence.ends import restore_end

OUTCOME = Outcome(
    trained=1,
    iterations=12,
    kernel_evaluations=90,
    seconds=0.25,
    reason="converged",
    kkt_violation=1e-4,
    duality_gap=math.inf,
    objective=math.nan,
    precision="float64",
)


def kept(end: Any) -> dict[str, Any]:
    return dict(to_json(asdict(end), "it"))


def test_both_kinds_come_back() -> None:
    found = restore_end(Outcome, Fields(kept(OUTCOME), "ends"))
    assert repr(found) == repr(OUTCOME)
    report = ProblemReport.of(("a", "b"), OUTCOME, 7)
    assert repr(restore_end(ProblemReport, Fields(kept(report), "report"), classes=("a", "b"))) == repr(report)


@pytest.mark.parametrize(
    "wrong",
    [{"reason": "tired"}, {"precision": "float16"}, {"iterations": -1}, {"seconds": "long"}, {"objective": None}],
)
def test_what_is_no_end(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(ModelFileError, match=name):
        restore_end(Outcome, Fields(kept(OUTCOME) | wrong, "ends"))
