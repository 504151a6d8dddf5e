"""Command line: ``python -m benchmarks.faults``.

Every fault goes into a copy of the working tree by itself, the core is built again where it is C++, and the tests that
are meant to notice run with a limit on their time. A fault is noticed if a test fails, crashes or does not end. The
exit status is 1 if fewer than 95 % are noticed, or if a fault cannot be put in any more.

Needs cmake and ninja on the path, and nanobind beside the dependencies of the package.
"""

import argparse
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import widemargin._core
from benchmarks.faults.table import FAULTS, Fault
from benchmarks.peers.table import render

ROOT = Path(__file__).parents[2]
CORE = Path(widemargin._core.__file__)
#: For a single test; what hears no signal ends a minute later.
TEST_SECONDS = 150
ALL_SECONDS = 900
ENOUGH = 0.95
#: Others come from outside, and say nothing about the fault.
CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)


class UndecidedError(Exception):
    """The fault could not be put in, built, or asked about."""


class Copy:
    """A copy of the working tree with an environment of its own, in which nothing knows of the original."""

    def __init__(self, folder: Path, optimise: str) -> None:
        self.tree, self.optimise = folder / "tree", optimise
        listed = self._output(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], ROOT)
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.tree / name)
        shutil.copy2(CORE, self.core)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
        self.python = folder / "venv" / "bin" / "python"
        site = self._output([str(self.python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], folder)
        # Paths alone: files that install a package in place would lead back to the original.
        paths = [str(self.tree / "src"), *(path for path in sys.path if path.endswith("-packages"))]
        (Path(site.strip()) / "copy.pth").write_text("\n".join(paths) + "\n")
        found = "import importlib.util as u; print(u.find_spec('widemargin').origin)"
        where = self._output([str(self.python), "-c", found])
        assert str(self.tree) in where, where

    @property
    def core(self) -> Path:
        """The compiled module of the copy."""
        return self.tree / "src" / "widemargin" / CORE.name

    def build(self) -> None:
        """Compile the core of the copy."""
        build = self.tree / "build" / "faults"
        if not build.exists():
            kind = ["-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_FLAGS_RELEASE={self.optimise} -DNDEBUG"]
            self._output(
                ["cmake", "-S", ".", "-B", str(build), "-G", "Ninja", f"-DPython_EXECUTABLE={self.python}", *kind]
            )
        self._output(["cmake", "--build", str(build)])
        shutil.copy2(build / CORE.name, self.core)

    def run_tests(self, tests: Sequence[str]) -> tuple[bool, str]:
        """Return whether all of them pass, and what to say of it."""
        missing = [test for test in tests if not (self.tree / test).exists()]
        if missing:
            raise UndecidedError(f"there is no {missing[0]}")
        command = [str(self.python), "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"--timeout={TEST_SECONDS}"]
        try:
            ended = subprocess.run(
                [*command, *tests], cwd=self.tree, capture_output=True, text=True, timeout=ALL_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return False, "the tests do not end"
        if ended.returncode == 0:
            return True, "all pass"
        failed = [line for line in ended.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        if ended.returncode == 1 and failed:
            return False, failed[0].split(" - ")[0].removeprefix("FAILED ")
        if ended.returncode == 1 and "Timeout (" in ended.stderr:
            return False, "a test hears no signal, and does not end"
        if -ended.returncode in CRASHES:
            return False, f"the tests crash: {signal.Signals(-ended.returncode).name}"
        raise UndecidedError(f"pytest ended with status {ended.returncode}: {ended.stdout[-500:]}{ended.stderr[-500:]}")

    def _output(self, command: Sequence[str], where: Path | None = None) -> str:
        ended = subprocess.run(command, cwd=where or self.tree, capture_output=True, text=True, check=False)
        if ended.returncode != 0:
            raise UndecidedError(f"{' '.join(command[:2])} failed: {(ended.stdout + ended.stderr)[-2000:]}")
        return ended.stdout


def put_in(fault: Fault, text: str) -> str:
    """Return the text of a file with the fault in it."""
    if text.count(fault.before) != 1:
        raise UndecidedError(f"{fault.path} holds {fault.before!r} {text.count(fault.before)} times, not once")
    return text.replace(fault.before, fault.after)


def try_out(fault: Fault, copy: Copy) -> tuple[bool, str]:
    """Return whether the tests notice a fault, and what to say of it; the copy is then as it was."""
    file, sound = copy.tree / fault.path, copy.core.read_bytes()
    text = file.read_text()
    try:
        file.write_text(put_in(fault, text))
        if fault.compiled:
            copy.build()
        passed, said = copy.run_tests(fault.tests)
        return not passed, said
    finally:
        file.write_text(text)
        copy.core.write_bytes(sound)


def named(names: str) -> list[Fault]:
    """Return faults by their names, separated by commas."""
    known = {fault.name: fault for fault in FAULTS}
    unknown = [name for name in names.split(",") if name not in known]
    if unknown:
        raise SystemExit(f"There is no fault {unknown[0]!r}; --list names them all.")
    return [known[name] for name in names.split(",")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, try the faults out and say which survive."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__.split("\n\n")[1])
    parser.add_argument("--faults", help="names, separated by commas (all of them otherwise)")
    parser.add_argument("--list", action="store_true", help="name the faults and do nothing")
    parser.add_argument("--optimise", default="-O2", help="how the core is compiled (%(default)s)")
    parser.add_argument("--trust", action="store_true", help="do not run the tests without a fault first")
    given = parser.parse_args(arguments)
    chosen = named(given.faults) if given.faults else list(FAULTS)
    if given.list:
        print(render(["fault", "file"], [[fault.name, fault.path] for fault in chosen]))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder), given.optimise)
        if not given.trust:
            passed, said = copy.run_tests(sorted({test for fault in chosen for test in fault.tests}))
            if not passed:
                raise SystemExit(f"The tests fail without any fault: {said}.")
        return _try_all(chosen, copy)


def _try_all(chosen: Sequence[Fault], copy: Copy) -> int:
    noticed, survived, unknown = [], [], []
    for number, fault in enumerate(chosen, 1):
        began = time.perf_counter()
        try:
            seen, said = try_out(fault, copy)
            (noticed if seen else survived).append(fault.name)
            word = "noticed" if seen else "SURVIVED"
        except UndecidedError as reason:
            unknown.append(fault.name)
            word, said = "CANNOT TELL", str(reason)
        print(f"{number}/{len(chosen)} {fault.name}: {word} ({said}; {time.perf_counter() - began:.0f} s)", flush=True)
    share = len(noticed) / len(chosen)
    print(f"{len(noticed)} of {len(chosen)} faults noticed ({share:.0%}); survived: {', '.join(survived) or 'none'}")
    return int(share < ENOUGH or bool(unknown))


if __name__ == "__main__":
    sys.exit(main())
