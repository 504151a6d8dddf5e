"""Command line: ``python -m benchmarks.outside [tests] [clients] [--quick]``."""

import argparse
import sys

from benchmarks.outside.clients import CLIENTS, clients
from benchmarks.outside.own_tests import own_tests


def main() -> int:
    """Run what is asked for; 1 if anything was unexpected."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.outside", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=["tests", "clients", []], help="by default both")
    parser.add_argument("--quick", action="store_true", help="the files of tests that end within two minutes")
    parser.add_argument("--only", metavar="NAME", action="append", choices=sorted(CLIENTS), help="one of the clients")
    options = parser.parse_args()
    parts = options.parts or (["clients"] if options.only else ["tests", "clients"])
    fine = True
    if "tests" in parts:
        fine &= own_tests(quick=options.quick)
    if "clients" in parts:
        fine &= clients(options.only)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
