"""How solves ended, in model files."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

from widemargin import _core
from widemargin.persistence.archive import Fields

End = TypeVar("End")

#: What the strings of an end may be.
WORDS = {"reason": tuple(_core.REASONS), "precision": ("float32", "float64")}


def restore_end(cls: type[End], entry: Fields, **known: Any) -> End:
    """Read the fields of a dataclass, whose numbers may be infinite or NaN, but for those that are known.

    Examples
    --------
    >>> from dataclasses import asdict
    >>> from widemargin.machines.dual import Outcome
    >>> end = Outcome(reason="converged", kkt_violation=1e-4, duality_gap=0.1, objective=2.0, precision="float32")
    >>> restore_end(Outcome, Fields(asdict(end), "an example")) == end
    True
    """
    readers = {"int": entry.whole, "float": lambda name: entry.number(name, finite=False)}
    values = {
        field.name: readers[str(field.type)](field.name)
        if field.type in readers
        else entry.choice(field.name, WORDS[field.name])
        for field in fields(cls)  # type: ignore[arg-type]
        if field.name not in known
    }
    return cls(**values, **known)
