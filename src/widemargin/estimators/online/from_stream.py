"""Fitted attributes that are computed when somebody asks for them, and kept until the model learns more."""

from __future__ import annotations

from typing import Any, TypeVar

#: Attributes of the decision functions and of the report, which are set together.
FROM_STREAM = (
    "support_",
    "support_vectors_",
    "n_support_",
    "dual_coef_",
    "intercept_",
    "shape_fit_",
    "fit_report_",
    "fit_status_",
    "n_iter_",
    "_fitted_scheme",
    "_predict_in_double",
)


Model = TypeVar("Model", bound=type)


class FromStream:
    """An attribute that an instance has once its ``_describe`` has set it; asking for it calls that.

    As with :func:`functools.cached_property`, what stands in the instance comes first, and may be set and deleted.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> class Model:
    ...     half_ = FromStream("half_")
    ...     n = 4
    ...     def _describe(self):
    ...         self.half_ = self.n // 2
    >>> model = Model()
    >>> model.half_, vars(model)
    (2, {'half_': 2})
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, model: Any, of: type) -> Any:
        if model is None:
            return self
        model._describe()
        if self.name not in vars(model):
            raise AttributeError(f"{of.__name__!r} object has no attribute {self.name!r}")
        return vars(model)[self.name]


def described_later(model: Model) -> Model:
    """Give a class these attributes; its ``_describe`` sets them."""
    for name in FROM_STREAM:
        setattr(model, name, FromStream(name))
    return model
