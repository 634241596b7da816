"""Lockstep from Python: simulate steps of LLM training, search for plans, compare, sweep.

    import lockstep
    plan = lockstep.plan("llama-3-70b", cluster="h100:8", batch_tokens="4M", sequence_length=8192)
    step = lockstep.run(plan.best)
    step.step_time_s, step.mfu, step.memory.peak_bytes

A scenario is the path of a YAML file, a dict with the same keys, a model (with `cluster` and `batch_tokens`), or what
another function of this module returned. Every function runs the `lockstep` program and returns its JSON as an object
whose keys are attributes: `result.memory.fits` and `result["memory"]["fits"]` are the same. Keys carry their units.
What a user can write wrong raises `ScenarioError`, with every problem located.
"""

from ._commands import check, collective, compare, goodput, plan, run, schedule, sweep
from ._program import LockstepError, Problem, ScenarioError, version
from ._results import (
    CheckResult,
    CollectiveResult,
    CompareResult,
    GoodputResult,
    Plan,
    PlanResult,
    Record,
    RunResult,
    ScheduleResult,
    SweepResult,
)
from ._scenarios import Scenario

__all__ = [
    "CheckResult",
    "CollectiveResult",
    "CompareResult",
    "GoodputResult",
    "LockstepError",
    "Plan",
    "PlanResult",
    "Problem",
    "Record",
    "RunResult",
    "Scenario",
    "ScenarioError",
    "ScheduleResult",
    "SweepResult",
    "check",
    "collective",
    "compare",
    "goodput",
    "plan",
    "run",
    "schedule",
    "sweep",
    "version",
]
