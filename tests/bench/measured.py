"""Processor seconds and peak memory of a command, for the measurements beside this file."""
import json
import math
import os
import resource
import signal
import subprocess
import tempfile
import time


class Measured:
    """The cheapest of several runs: `seconds` of processor time and peak `megabytes`, both with all child processes.

    `state` is "" or says why there are no numbers: "refused" (exit 2), "exit N", or "> N s" if it needs more
    processor time than the limit."""

    def __init__(self, state, seconds=0.0, megabytes=0.0, text=""):
        self.state, self.seconds, self.megabytes, self.text = state, seconds, megabytes, text

    def engine(self, key):
        """A number of the result's `engine`, such as "ops"; nothing for a command without `--json -`."""
        try:
            return json.loads(self.text)["engine"][key]
        except (ValueError, KeyError, TypeError):
            return None


PATIENCE = 8  # a machine that is busy with other work gives a run this many times its limit by the clock
NEW_FILE = "NEW_FILE"  # a word of a command that becomes the path of a file that is not there yet


def run_once(command, limit):
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryDirectory() as folder:
        words = [os.path.join(folder, "new") if word == NEW_FILE else word for word in command]
        child = subprocess.Popen(words, stdout=output, stderr=subprocess.DEVNULL, start_new_session=True)
        resource.prlimit(child.pid, resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit)))
        begun, pause = time.monotonic(), 0.001
        while True:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid != 0:
                break
            if time.monotonic() - begun > PATIENCE * limit:
                os.killpg(child.pid, signal.SIGKILL)
                os.wait4(child.pid, 0)
                child.returncode = -signal.SIGKILL
                return Measured(f"> {limit:g} s")
            time.sleep(pause)
            pause = min(2 * pause, 0.1)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode in (-signal.SIGXCPU, -signal.SIGKILL) and usage.ru_utime + usage.ru_stime >= limit - 1:
            return Measured(f"> {limit:g} s")
        if child.returncode != 0:
            return Measured("refused" if child.returncode == 2 else f"exit {child.returncode}")
        output.seek(0)
        return Measured("", usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output.read())


def measure(command, limit):
    """Runs again, at most five times, while all runs together took less than three seconds."""
    best, spent = run_once(command, limit), 0.0
    for _ in range(4):
        spent += best.seconds
        if best.state or spent > 3:
            break
        again = run_once(command, limit)
        if again.state:
            return again
        if again.seconds < best.seconds:
            best = again
    return best


def print_table(head, rows):
    """Row by row as they come; nothing if there is none."""
    for number, row in enumerate(rows):
        if number == 0:
            print("| " + " | ".join(head) + " |")
            print("|" + "---|" * len(head))
        print("| " + " | ".join(row) + " |", flush=True)
