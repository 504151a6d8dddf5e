"""Matplotlib renderers of what is in this package; importing this module needs the extra ``plot``."""

from collections.abc import Sequence
from functools import singledispatch
from os import PathLike
from pathlib import PurePath

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from widemargin.inspection.info import DecisionSurface, DecisionValues
from widemargin.inspection.sequences import Contributions, OligomerTable, Substitutions
from widemargin.runtime.files import replaced_file

# Orange and blue stay apart for every common kind of colour blindness.
NEGATIVE, POSITIVE = "#c75b00", "#1f5fa8"
SURFACE = LinearSegmentedColormap.from_list("surface", ["#f2a65a", "#ffffff", "#7fb0e3"])
#: Colours of weights: against, nothing, for.
WEIGHTS = LinearSegmentedColormap.from_list("weights", [NEGATIVE, "#f2a65a", "#ffffff", "#7fb0e3", POSITIVE])
UNKNOWN = "#bbbbbb"

#: Rows of a table of weights that are drawn, cells that are listed beside it, and letters that are written on an axis.
MOST_ROWS, LISTED, MOST_LETTERS = 64, 10, 120

MARGIN_STYLE = {-1.0: "dashed", 0.0: "solid", 1.0: "dashed"}


Panel = DecisionSurface | DecisionValues | OligomerTable | Contributions | Substitutions


def save_picture(path: str | PathLike[str], panels: Sequence[Panel], *, stacked: bool = False) -> None:
    """Draw panels and write them to a file whose ending names the format (png, pdf, svg).

    Parameters
    ----------
    path : str or path-like
        The file.
    panels : sequence of DecisionSurface, DecisionValues, OligomerTable, Contributions or Substitutions
        What to draw, from left to right.
    stacked : bool, default=False
        Draw it from top to bottom instead.

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
    named = require_format(path)
    widths, heights = zip(*map(_size, panels), strict=True)
    size = (max(widths), sum(heights)) if stacked else (sum(widths), max(heights))
    figure = Figure(figsize=size, layout="constrained")
    if stacked:
        places = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    else:
        places = figure.subplots(1, len(panels), squeeze=False, width_ratios=widths)[0]
    for axes, panel in zip(places, panels, strict=True):
        draw(panel, axes)
    with replaced_file(path) as file:
        figure.savefig(file, dpi=120, format=named)


def require_format(path: str | PathLike[str]) -> str:
    """Return the format that the ending of a file names, png without one; refuse one that matplotlib cannot write."""
    named = PurePath(path).suffix.removeprefix(".").lower() or "png"
    known = FigureCanvasBase.get_supported_filetypes()
    if named not in known:
        raise ValueError(
            f"the ending of {PurePath(path).name!r} names no format of pictures; it may be {', '.join(sorted(known))}."
        )
    return named


def _size(panel: Panel) -> tuple[float, float]:
    """Return the inches that a panel takes."""
    if isinstance(panel, OligomerTable):
        return 3.4 + 0.15 * max(30, len(panel.positions)), 1.8 + 0.14 * min(len(panel.oligomers), MOST_ROWS)
    if isinstance(panel, Contributions | Substitutions):
        width = 1.6 + 0.18 * min(max(30, len(panel.sequence)), MOST_LETTERS)
        return width, 2.8 if isinstance(panel, Contributions) else 2.2 + 0.3 * len(panel.letters)
    return 6.4, 6.2


@singledispatch
def draw(info: object, axes: Axes) -> None:
    """Draw one panel into given axes."""
    accepted = " or ".join(one.__name__ for one in Panel.__args__)
    raise TypeError(f"info must be a {accepted}, got {type(info).__name__}.")


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


@draw.register
def _(info: OligomerTable, axes: Axes) -> None:
    if not info.oligomers:
        axes.set_title(f"weights of {info.k}-mers: no support vector holds any", fontsize=10)
        return
    largest = np.abs(info.weights).max(axis=1, initial=0.0)
    heaviest = info.heaviest(LISTED)
    framed = [info.oligomers.index(cell.oligomer) for cell in heaviest]
    by_size = np.argsort(-largest, kind="stable").tolist()
    rows = sorted(list(dict.fromkeys([*framed, *by_size]))[:MOST_ROWS])
    names, weights = [info.oligomers[row] for row in rows], info.weights[rows]
    left = float(info.positions[0]) - 0.5
    extent = (left, left + len(info.positions), len(names) - 0.5, -0.5)
    top = max(float(largest.max(initial=0.0)), np.finfo(float).tiny)
    image = axes.imshow(
        weights, cmap=WEIGHTS, vmin=-top, vmax=top, extent=extent, aspect="auto", interpolation="nearest"
    )
    for cell in heaviest:
        corner = (cell.position - 0.5, names.index(cell.oligomer) - 0.5)
        axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor="black", linewidth=0.8))
    axes.set_yticks(range(len(names)), names, fontsize=7, family="monospace")
    axes.set_xlabel("position of the first letter")
    shown = "" if len(names) == len(info.oligomers) else f" ({len(names)} of {len(info.oligomers)} shown)"
    axes.set_title(f"weights of {info.k}-mers{shown}: blue for {info.toward}, orange against it", fontsize=10)
    if info.positions[0] < 0 <= info.positions[-1]:
        axes.axvline(-0.5, color="black", linewidth=0.8, linestyle="dotted")
    width = max(len(f"{cell.position:+d}") for cell in heaviest)
    decimals = int(np.clip(2 - np.floor(np.log10(top)), 0, 12))
    cells = [f"{one.oligomer} {one.position:+{width}d}  {one.weight:+.{decimals}f}" for one in heaviest]
    listed = "\n".join(["heaviest", *cells])
    axes.text(1.02, 1.0, listed, transform=axes.transAxes, va="top", family="monospace", fontsize=8)
    axes.figure.colorbar(image, ax=axes, location="bottom", shrink=0.5, aspect=40, pad=0.02, label="weight")


@draw.register
def _(info: Contributions, axes: Axes) -> None:
    colours = np.where(info.values < 0, NEGATIVE, POSITIVE).tolist()
    axes.bar(info.positions, info.values, width=0.85, color=colours)
    axes.axhline(0.0, color="black", linewidth=0.8)
    axes.set_ylabel("contribution")
    axes.set_title(
        f"decision value {info.decision_value:.3g} = letters {info.values.sum():.3g}, intercept {info.intercept:.3g} "
        f"(above 0 for {info.toward})",
        fontsize=10,
    )
    _write_letters(info.sequence, info.positions, axes)


@draw.register
def _(info: Substitutions, axes: Axes) -> None:
    known = info.changes[np.isfinite(info.changes)]
    top = max(float(np.abs(known).max(initial=0.0)), np.finfo(float).tiny)
    left = float(info.positions[0]) - 0.5
    extent = (left, left + len(info.positions), len(info.letters) - 0.5, -0.5)
    image = axes.imshow(
        np.ma.masked_invalid(info.changes.T),
        cmap=WEIGHTS.with_extremes(bad=UNKNOWN),
        vmin=-top,
        vmax=top,
        extent=extent,
        aspect="auto",
        interpolation="nearest",
    )
    places = [
        (position, info.letters.find(letter)) for position, letter in zip(info.positions, info.sequence, strict=True)
    ]
    there = np.array([place for place in places if place[1] >= 0]).reshape(-1, 2)
    axes.scatter(there[:, 0], there[:, 1], s=6, color="black")
    axes.set_yticks(range(len(info.letters)), list(info.letters), family="monospace")
    axes.set_ylabel("new letter")
    axes.set_title(f"change of the decision value {info.decision_value:.3g} by a substitution", fontsize=10)
    _write_letters(info.sequence, info.positions, axes)
    axes.figure.colorbar(image, ax=axes, location="bottom", shrink=0.5, aspect=40, pad=0.02, label="change")


def _write_letters(sequence: str, positions: NDArray[np.int64], axes: Axes) -> None:
    """Write a sequence along the axis of positions, and some positions below it."""
    axes.set_xlim(positions[0] - 0.5, positions[-1] + 0.5)
    axes.set_xlabel("position")
    if len(sequence) > MOST_LETTERS:
        return
    written = [
        f"{letter}\n{position if position % 10 == 0 else ' '}"  # a second line under all, so that letters are level
        for letter, position in zip(sequence, positions.tolist(), strict=True)
    ]
    axes.set_xticks(positions, written, fontsize=8, family="monospace")


def _classes(info: DecisionSurface | DecisionValues) -> list[tuple[bool, str, str]]:
    return [(False, NEGATIVE, info.class_names[0]), (True, POSITIVE, info.class_names[1])]


def _legend_below(axes: Axes) -> None:
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.09), ncols=3, frameon=False, markerscale=1.5)
