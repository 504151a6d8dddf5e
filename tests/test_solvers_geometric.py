"""What the geometric solvers accept."""

from __future__ import annotations

import re
from typing import Any

import pytest

from widemargin.solvers import MDM


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"accelerated": "often"}, "accelerated must be True or False; got 'often'."),
        ({"dtype": "double"}, "dtype must be one of 'float32', 'float64'; got 'double'."),
    ],
)
def test_what_means_nothing_to_mdm_is_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        MDM(**parameters).options()
