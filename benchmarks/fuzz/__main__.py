"""``python -m benchmarks.fuzz problems|models|searches --cases 1000 --seed 0``; status 1 if anything was found."""

import argparse
import collections
import sys
import time
import traceback
import warnings

from benchmarks.fuzz import models, problems, searches
from benchmarks.fuzz.draws import FindingError

KINDS = {"problems": problems.run, "models": models.run, "searches": searches.run}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first of the seeds, one for each case")
    parser.add_argument("--only", type=int, default=None, help="this seed alone, with what it was")
    parser.add_argument("--seconds", type=float, default=20.0, help="a case that takes longer is a finding")
    chosen = parser.parse_args(arguments)
    seeds = [chosen.only] if chosen.only is not None else range(chosen.seed, chosen.seed + chosen.cases)
    ends: collections.Counter[str] = collections.Counter()
    found = 0
    for seed in seeds:
        began = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                words = KINDS[chosen.kind](seed)
            if time.perf_counter() - began > chosen.seconds:
                raise FindingError(f"{words}: took {time.perf_counter() - began:.1f} s")
            ends[words.rpartition(": ")[2]] += 1
            if chosen.only is not None:
                print(words)
        except FindingError as finding:
            found += 1
            print(f"seed {seed}: {finding}", flush=True)
        except Exception as error:
            found += 1
            print(f"seed {seed}: {type(error).__name__}: {error}", flush=True)
            if chosen.only is not None:
                traceback.print_exc()
    print(", ".join(f"{count} {end}" for end, count in ends.most_common()))
    print(f"{found} findings in {len(seeds)} cases")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
