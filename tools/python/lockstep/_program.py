"""Finds the lockstep program, runs it, and turns its messages into exceptions."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping, Sequence

USER_ERROR = 2
"""The exit code after mistakes of the user."""


AFTER_INTERRUPT_S = 30
"""How long an interrupted search may take to print its best answer."""


@dataclass(frozen=True)
class Problem:
    """One mistake: where it is, what is wrong and what was expected. Parts that a message does not have are None."""

    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    key: str | None = None
    expected: str | None = None

    def __str__(self) -> str:
        place = "" if self.file is None else self.file + (f":{self.line}:{self.column}" if self.line else "") + ": "
        key = "" if self.key is None else f"{self.key}: "
        expected = "" if self.expected is None else f"; expected {self.expected}"
        return place + key + self.message + expected


class LockstepError(Exception):
    """The program could not be found, or ended in another way than it should."""


class ScenarioError(LockstepError):
    """What was asked for is wrong; `problems` holds all that is, in the order of the file."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = list(problems)


def program() -> str:
    """The program: $LOCKSTEP, or the one in this package, or the one in the PATH.

    Raises LockstepError if there is none.
    """
    given = os.environ.get("LOCKSTEP")
    if given:
        return given
    packaged = Path(__file__).parent / "_program" / "bin" / "lockstep"
    if packaged.exists():
        return str(packaged)
    found = shutil.which("lockstep")
    if found:
        return found
    raise LockstepError("there is no lockstep program in the PATH; install the package or set LOCKSTEP to its path")


def version() -> str:
    """The version of the program, such as "0.1.0"."""
    return output(["--version"]).split()[-1]


def output(arguments: Sequence[str], names: Mapping[str, str] | None = None) -> str:
    """What the program prints to stdout. `names`: of temporary files, as messages shall call them.

    An interrupted search still prints its best answer, which is returned. Raises ScenarioError or LockstepError.
    """
    try:
        child = subprocess.Popen(
            [program(), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    except OSError as error:
        raise LockstepError(f"{program()} cannot be run: {error.strerror}") from error
    interrupted: KeyboardInterrupt | None = None
    try:
        out, err = child.communicate()
    except KeyboardInterrupt as stop:  # the program has the signal from a terminal, not from elsewhere
        interrupted = stop
        child.send_signal(signal.SIGINT)
        try:
            out, err = child.communicate(timeout=AFTER_INTERRUPT_S)
        except subprocess.TimeoutExpired:
            child.kill()
            raise stop from None
    for temporary, name in (names or {}).items():
        out, err = out.replace(temporary, name), err.replace(temporary, name)
    if interrupted is not None and not out:
        raise interrupted
    if child.returncode == USER_ERROR:
        raise ScenarioError([problem_of(line) for line in err.splitlines() if line])
    if child.returncode != 0 and interrupted is None:
        raise LockstepError(f"lockstep {arguments[0]} ended with {child.returncode}: {err.strip()}")
    return out


def json_output(arguments: Sequence[str], names: Mapping[str, str] | None = None) -> Any:
    """What the program prints with `--json -`."""
    return json.loads(output([*arguments, "--json", "-"], names))


_OPTION = re.compile(r"(?P<option>--[a-z-]+)(?: (?P<key>[\w.]+))?: (?P<rest>.*)")
_LOCATED = re.compile(r"(?P<file>[^\s:][^:]*):(?P<line>\d+):(?P<column>\d+): (?P<rest>.*)")
_IN_FILE = re.compile(r"(?P<file>[^\s:][^:]*\.[A-Za-z]+): (?P<rest>.*)")
_KEY = re.compile(r"(?P<key>(--)?[A-Za-z_][\w.\[\]-]*): (?P<rest>.*)")


def problem_of(text: str) -> Problem:
    """`file:line:col: key: what is wrong; expected what`, of which only what is wrong must be there."""
    rest, file, line, column, key, expected = text, None, None, None, None, None
    if option := _OPTION.fullmatch(rest):
        key, rest = option["key"] or option["option"], option["rest"]
        rest = rest.removeprefix(f"{key}: ")
    elif located := _LOCATED.fullmatch(rest):
        file, line, column = located["file"], int(located["line"]), int(located["column"])
        rest = located["rest"]
    elif in_file := _IN_FILE.fullmatch(rest):
        file, rest = in_file["file"], in_file["rest"]
    if key is None and (keyed := _KEY.fullmatch(rest)):
        key, rest = keyed["key"], keyed["rest"]
    if "; expected " in rest:
        rest, expected = rest.rsplit("; expected ", 1)
    return Problem(rest, file, line or None, column or None, key, expected)
