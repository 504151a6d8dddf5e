"""Matplotlib renderers of :mod:`widemargin.inspection.info`; importing this module needs the extra ``plot``."""

from collections.abc import Sequence
from functools import singledispatch
from os import PathLike

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from widemargin.inspection.info import DecisionSurface, DecisionValues

# Orange and blue stay apart for every common kind of colour blindness.
NEGATIVE, POSITIVE = "#c75b00", "#1f5fa8"
SURFACE = LinearSegmentedColormap.from_list("surface", ["#f2a65a", "#ffffff", "#7fb0e3"])
MARGIN_STYLE = {-1.0: "dashed", 0.0: "solid", 1.0: "dashed"}


def save_picture(path: str | PathLike[str], panels: Sequence[DecisionSurface | DecisionValues]) -> None:
    """Draw panels side by side and write them to a file whose ending names the format (png, pdf, svg).

    Parameters
    ----------
    path : str or path-like
        The file.
    panels : sequence of DecisionSurface or DecisionValues
        What to draw, from left to right.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.inspection import DecisionValues
    >>> from widemargin.inspection.pictures import save_picture
    >>> panel = DecisionValues(
    ...     title="three samples", values=np.array([-1.0, 0.5, 2.0]), spread=np.arange(3.0), spread_name="sample",
    ...     positive=np.array([False, False, True]), class_names=("no", "yes"),
    ... )
    >>> save_picture("samples.png", [panel])
    """
    figure = Figure(figsize=(6.4 * len(panels), 6.2), layout="constrained")
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        draw(panel, axes)
    figure.savefig(path, dpi=120)


@singledispatch
def draw(info: object, axes: Axes) -> None:
    """Draw one panel into given axes."""
    raise TypeError(f"info must be a DecisionSurface or DecisionValues, got {type(info).__name__}.")


@draw.register
def _(info: DecisionSurface, axes: Axes) -> None:
    # Beyond twice the margin the colour says nothing new.
    levels = np.linspace(-2.0, 2.0, 21)
    axes.contourf(info.horizontal, info.vertical, info.values, levels=levels, cmap=SURFACE, extend="both")
    axes.contour(
        info.horizontal,
        info.vertical,
        info.values,
        levels=list(MARGIN_STYLE),
        linestyles=list(MARGIN_STYLE.values()),
        linewidths=[0.8, 1.6, 0.8],
        colors="black",
    )
    for positive, colour, name in _classes(info):
        members = info.positive == positive
        axes.scatter(
            info.points[members, 0], info.points[members, 1], s=9, color=colour, linewidths=0, label=f"class {name}"
        )
    axes.scatter(
        info.points[info.support, 0],
        info.points[info.support, 1],
        s=26,
        facecolors="none",
        edgecolors="black",
        linewidths=0.6,
        label="support vector",
    )
    axes.plot([], [], color="black", linewidth=1.6, label="boundary (f = 0)")
    axes.plot([], [], color="black", linewidth=0.8, linestyle="dashed", label="margins (f = -1, f = 1)")
    axes.set_title(info.title)
    axes.set_aspect("equal")
    axes.set_xlim(info.horizontal[0], info.horizontal[-1])
    axes.set_ylim(info.vertical[0], info.vertical[-1])
    axes.locator_params(nbins=5)
    _legend_below(axes)


@draw.register
def _(info: DecisionValues, axes: Axes) -> None:
    for value, style in MARGIN_STYLE.items():
        axes.axvline(value, color="black", linewidth=0.8 if value else 1.6, linestyle=style)
    for positive, colour, name in _classes(info):
        members = info.positive == positive
        axes.scatter(
            info.values[members], info.spread[members], s=16, color=colour, linewidths=0, label=f"truly {name}"
        )
    axes.scatter(
        info.values[info.wrong],
        info.spread[info.wrong],
        s=70,
        facecolors="none",
        edgecolors="black",
        label=f"wrong side ({int(info.wrong.sum())} of {info.wrong.size})",
    )
    axes.set_xlabel(f"decision value f: {info.class_names[0]} below 0, {info.class_names[1]} above")
    axes.set_ylabel(info.spread_name)
    axes.set_title(info.title)
    _legend_below(axes)


def _classes(info: DecisionSurface | DecisionValues) -> list[tuple[bool, str, str]]:
    return [(False, NEGATIVE, info.class_names[0]), (True, POSITIVE, info.class_names[1])]


def _legend_below(axes: Axes) -> None:
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.09), ncols=3, frameon=False, markerscale=1.5)
