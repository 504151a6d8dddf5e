"""Processes that may be killed while they write to a journal, and the search that it belongs to."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

IDENTITY = {"schema": 1, "data": "d" * 64, "candidates": "a" * 64, "splits": "5" * 64}

# Forks a process for every line that it reads, so that only one process has to import the package.
NURSERY = """
import os, signal, sys, time
from widemargin.study import Journal

IDENTITY = {identity!r}

def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())

{work}

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        os.close(0)
        work(line.strip())
        os._exit(0)
    os.waitpid(child, 0)
    say("dead")
"""


class Nursery:
    """Runs ``work(argument)`` in processes that may be killed, and reads what they say."""

    def __init__(self, work: str) -> None:
        script = NURSERY.format(identity=IDENTITY, work=work)
        self._process = subprocess.Popen(
            [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def begin(self, argument: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{argument}\n")
        self._process.stdin.flush()

    def hear(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()
