"""Command line: ``python -m benchmarks.papers TABLE``."""

import argparse
from collections.abc import Sequence
from typing import Protocol, cast

from benchmarks.papers import abe_tables, barbero_table_2
from benchmarks.papers.glasmachers import (
    glasmachers_figure_7_4,
    glasmachers_figure_9_1,
    glasmachers_figure_10_1,
    glasmachers_section_11_4,
    glasmachers_table_6_2,
    glasmachers_table_6_3,
    glasmachers_table_7_2,
    glasmachers_table_12_1,
    glasmachers_table_13_1,
    glasmachers_tables_12_3_to_12_6,
)
from benchmarks.papers.lasvm import glasmachers_figures_8, glasmachers_table_8_1, lasvm_active, lasvm_speed
from benchmarks.papers.lebrun import lebrun_few_features, lebrun_figure_1, lebrun_search, lebrun_table_3
from benchmarks.papers.timm import timm_figure_1, timm_section_3_2


class Table(Protocol):
    """A module that reproduces a table."""

    SUMMARY: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""

    def run(self, given: argparse.Namespace) -> None:
        """Compute and print the table."""


TABLES = {
    module.__name__.rpartition(".")[2]: cast(Table, module)
    for module in (
        abe_tables,
        barbero_table_2,
        glasmachers_figure_7_4,
        glasmachers_figure_9_1,
        glasmachers_figure_10_1,
        glasmachers_figures_8,
        glasmachers_section_11_4,
        glasmachers_table_6_2,
        glasmachers_table_6_3,
        glasmachers_table_7_2,
        glasmachers_table_8_1,
        glasmachers_table_12_1,
        glasmachers_table_13_1,
        glasmachers_tables_12_3_to_12_6,
        lasvm_active,
        lasvm_speed,
        lebrun_few_features,
        lebrun_figure_1,
        lebrun_search,
        lebrun_table_3,
        timm_figure_1,
        timm_section_3_2,
    )
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and print a table."""
    top = argparse.ArgumentParser(prog="python -m benchmarks.papers", description="tables of papers, recomputed")
    commands = top.add_subparsers(dest="table", required=True)
    for name, table in TABLES.items():
        table.add_arguments(commands.add_parser(name, help=table.SUMMARY, description=table.SUMMARY))
    given = top.parse_args(arguments)
    TABLES[given.table].run(given)


if __name__ == "__main__":
    main()
