"""Pictures of plans on a grid of sigma and C, as in [Timm2009, Figure 2]."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from widemargin.plans import CostMatrix, Plan, Step

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES = {
    Step("C", 1): "C up",
    Step("C", -1): "C down",
    Step("sigma", 1): "wider",
    Step("sigma", -1): "narrower",
}
COLOURS = dict(zip(NAMES, ("#2a78d6", "#123a63", "#f2803a", "#b4490c"), strict=True))
DARK, GREY = "#0b0b0b", "#8a8983"


def mean_orientations(plans: Sequence[Plan]) -> dict[Step, tuple[float, float]]:
    """Return mean and standard deviation of the share of every orientation."""
    shares = [plan.orientations() for plan in plans]
    values = {step: [share[step] for share in shares] for step in NAMES}
    return {step: (float(np.mean(found)), float(np.std(found))) for step, found in values.items()}


def draw_plan(plan: Plan, costs: CostMatrix, title: str, target: Path) -> None:
    """Draw the edges of a plan, from parent to child, over what the nodes cost from nothing."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 6.4), layout="constrained")
    axes = figure.subplots()
    graph = plan.graph
    shape = tuple(len(values) for values in graph.values)
    cold = np.full(shape, np.nan)
    for node, place in enumerate(graph.coordinates):
        cold[place] = costs.cold[node] / costs.cold.max()
    image = axes.imshow(np.log10(cold).T, origin="lower", cmap="Greys", vmin=-4, vmax=1.5, aspect="auto")
    image.set_zorder(0)
    for step, name in NAMES.items():
        draw_edges(axes, plan, step, name)
    for number, root in enumerate(plan.roots):
        label = "starts from nothing" if number == 0 else None
        axes.plot(*np.array(graph.coordinates[root], dtype=float), "o", color=DARK, markersize=9, zorder=4, label=label)
    for set_ticks, values in zip((axes.set_xticks, axes.set_yticks), graph.values, strict=True):
        set_ticks(*round_numbers(values))
    axes.set(xlabel=r"$\sigma$", ylabel="C", title=f"{title}\n(the darker, the more it costs from nothing)")
    axes.spines[:].set_visible(False)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(target, dpi=150)


def round_numbers(values: Sequence[float]) -> tuple[list[float], list[str]]:
    """Find numbers such as 0.1, 0.2, 0.5, 1 on a logarithmic axis; decades only, where it spans many."""
    logarithms = np.log10(values)
    factors = (1, 2, 5) if logarithms[-1] - logarithms[0] < 3 else (1,)
    decades = range(int(np.floor(logarithms[0])), int(np.ceil(logarithms[-1])) + 1)
    shown = [factor * 10.0**decade for decade in decades for factor in factors]
    shown = [value for value in shown if values[0] * 0.999 <= value <= values[-1] * 1.001]
    places = np.interp(np.log10(shown), logarithms, np.arange(len(values)))
    return places.tolist(), [f"{value:,g}" for value in shown]


def draw_edges(axes: "Axes", plan: Plan, step: Step, name: str) -> None:
    """Draw the edges of one orientation as arrows."""
    graph = plan.graph
    ends = [
        (graph.coordinates[parent], graph.coordinates[node])
        for node, parent in enumerate(plan.parents)
        if parent is not None and graph.step(parent, node) == step
    ]
    if not ends:
        return
    tails, heads = np.array(ends, dtype=float).transpose(1, 2, 0)
    axes.quiver(
        *tails,
        *(heads - tails),
        angles="xy",
        scale_units="xy",
        scale=1,
        width=0.0045,
        headwidth=4.5,
        headlength=5,
        headaxislength=4.5,
        color=COLOURS[step],
        zorder=3,
        label=f"{name} ({len(ends)})",
    )


def draw_orientations(plans: Sequence[Plan], target: Path) -> None:
    """Draw the mean share of every orientation, and its standard deviation over the plans."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 3.6), layout="constrained")
    axes = figure.subplots()
    found = mean_orientations(plans)
    for place, (step, (mean, deviation)) in enumerate(found.items()):
        axes.bar(place, mean, yerr=deviation, color=COLOURS[step], ecolor=GREY, capsize=4, width=0.7)
        axes.annotate(f"{mean:.0%}", (place, mean + deviation), xytext=(0, 4), textcoords="offset points", ha="center")
    axes.set_xticks(range(len(found)), list(NAMES.values()))
    axes.set(ylabel="share of the edges", title=f"edges of the minimum spanning trees of {len(plans)} classes")
    axes.set_ylim(0, min(1.15, 1.25 * max(sum(pair) for pair in found.values())))
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(target, dpi=150)
