"""The functions of the module, one for each command of the program."""

from __future__ import annotations

import csv
import json
import re
import tempfile
from pathlib import Path
from typing import Any, Mapping, Sequence

from ._program import json_output, output
from ._results import (
    CheckResult,
    CollectiveResult,
    CompareResult,
    GoodputResult,
    PlanResult,
    RunResult,
    ScheduleResult,
    SweepResult,
)
from ._scenarios import Document, Scenario, ScenarioLike, scenario_of, set_options, written


def run(
    scenario: ScenarioLike,
    *,
    set: Mapping[str, Any] | None = None,
    cluster: str | None = None,
    batch_tokens: int | str | None = None,
    sequence_length: int | str | None = None,
    engine: str | None = None,
    sensitivity: bool = False,
) -> RunResult:
    """Simulates one step.

    `set` replaces keys by their dotted path: {"batch.sequences": 512, "mesh.tensor": ["gpu"]}. `cluster`,
    `batch_tokens` and `sequence_length` complete a model, which is planned first. `engine`: simgrid, max_min or
    reference. `sensitivity` fills `elasticity` and `twice_as_fast`. Raises ScenarioError.
    """
    given = scenario_of(scenario, set, cluster, batch_tokens, sequence_length)
    options = [*(["--engine", engine] if engine else []), *(["--sensitivity"] if sensitivity else [])]
    with written([given]) as files:
        values = json_output(["run", *files.arguments[0], *set_options(given), *options], files.names)
    return RunResult(values, given, options)


def write_report(scenario: Scenario, options: Sequence[str], folder: Path) -> None:
    """What `lockstep run --out` writes."""
    with written([scenario]) as files:
        output(["run", *files.arguments[0], *set_options(scenario), *options, "--out", str(folder)], files.names)


def check(
    scenario: ScenarioLike,
    *,
    set: Mapping[str, Any] | None = None,
    cluster: str | None = None,
    batch_tokens: int | str | None = None,
    sequence_length: int | str | None = None,
) -> CheckResult:
    """Looks for mistakes without simulating a step: raises ScenarioError with all of them."""
    given = scenario_of(scenario, set, cluster, batch_tokens, sequence_length)
    with written([given]) as files:
        values = json_output(["check", *files.arguments[0], *set_options(given)], files.names)
    return CheckResult(values["scenarios"][0], given)


def plan(
    scenario: ScenarioLike,
    *,
    set: Mapping[str, Any] | None = None,
    cluster: str | None = None,
    batch_tokens: int | str | None = None,
    sequence_length: int | str | None = None,
    limit_s: float | None = None,
    top: int | None = None,
    draws: int | None = None,
    objective: str | None = None,
    for_run: bool = False,
) -> PlanResult:
    """Searches for the fastest way to split the model over the chips, and proves that there is none faster.

    `limit_s` ends the search after so many seconds with its best plans; so does an interrupt. `top`: how many plans.
    `draws`: choose by so many draws of what varies, by their `objective` "median", "p95" or "regret"; `for_run`: by the
    useful time of the run that `reliability` describes.
    Pass the result, or one of its `plans`, to `run` or `compare`. Raises ScenarioError.
    """
    given = scenario_of(scenario, set, cluster, batch_tokens, sequence_length)
    options = [*(["--limit", str(limit_s)] if limit_s is not None else []), *(["--top", str(top)] if top else [])]
    options += ["--draws", str(draws)] if draws is not None else []
    options += ["--objective", objective] if objective is not None else []
    options += ["--for-run"] if for_run else []
    with written([given]) as files:
        values = json_output(["plan", *files.arguments[0], *set_options(given), *options], files.names)
    return PlanResult(values, given)


def compare(scenarios: Sequence[ScenarioLike] | Mapping[str, ScenarioLike], *, engine: str | None = None) -> CompareResult:
    """Simulates scenarios and says what makes them differ; of a map, the keys are their names. Raises ScenarioError."""
    if isinstance(scenarios, (str, Path)):
        raise TypeError("compare takes a list or a map of scenarios; of a sequence with one file, a list of it")
    names = [str(name) for name in scenarios] if isinstance(scenarios, Mapping) else None
    given = [scenario_of(one) for one in (scenarios.values() if isinstance(scenarios, Mapping) else scenarios)]
    resolved = [_as_one_document(one) for one in given]
    options = ["--engine", engine] if engine else []
    with written(resolved, names) as files:
        arguments = [argument for one in files.arguments for argument in one]
        values = json_output(["compare", *arguments, *options], files.names)
    if names:
        for name, one in zip(names, values["scenarios"]):
            one["name"] = name
    return CompareResult(values)


def sweep(
    scenario: ScenarioLike | None = None,
    *,
    grid: Mapping[str, Sequence[Any]] | None = None,
    zip: Mapping[str, Sequence[Any]] | None = None,
    points: Sequence[Mapping[str, Any]] | None = None,
    database: str | Path | None = None,
    jobs: int | None = None,
) -> SweepResult:
    """Simulates a scenario with many values of its keys, on every core.

    `grid`: every combination of the keys' values; `zip`: all first values together, then all second ones, and so on;
    `points`: maps as they are. A scenario with a `sweep` block needs none of them. `database`: a file that keeps the
    points, so that a sweep goes on where it stopped. Raises ScenarioError.
    """
    options = [*(["--jobs", str(jobs)] if jobs else []), "--yes"]
    with tempfile.TemporaryDirectory(prefix="lockstep-") as folder:
        table = Path(folder) / "points.csv"
        db = Path(database) if database is not None else Path(folder) / "sweep.db"
        options += ["--db", str(db), "--export", str(table)]
        if scenario is None:
            output(["sweep", *options])
        else:
            _sweep(_as_one_document(scenario_of(scenario)), _block(grid, zip, points), options)
        temporary = re.escape(str(Path(folder).parent)) + r"/lockstep-[^/]+/"
        lines = re.sub(temporary, "", table.read_text()).splitlines(keepends=True)
        rows = [{key: _number(cell) for key, cell in row.items()} for row in csv.DictReader(lines)]
        return SweepResult({"points": rows})


def schedule(
    *names: str,
    stages: int,
    microbatches: int,
    times: Sequence[float] | None = None,
    latency: float | None = None,
) -> ScheduleResult:
    """Pipeline schedules by themselves: makespan, bubbles and activations, with closed forms.

    `times`: of F, I and W of one microbatch on one stage. Raises ScenarioError.
    """
    options = ["--stages", str(stages), "--microbatches", str(microbatches)]
    if times is not None:
        options += ["--times", ",".join(str(time) for time in times)]
    if latency is not None:
        options += ["--latency", str(latency)]
    return ScheduleResult(json_output(["schedule", *names, *options]))


def goodput(scenario: ScenarioLike, *, set: Mapping[str, Any] | None = None, days: float | None = None) -> GoodputResult:
    """The useful share of a run that failures interrupt. Raises ScenarioError."""
    given = scenario_of(scenario, set)
    options = ["--days", str(days)] if days is not None else []
    with written([given]) as files:
        return GoodputResult(json_output(["goodput", *files.arguments[0], *set_options(given), *options], files.names))


def collective(kind: str, *, cluster: str, group: str, bytes: str = "1MiB..1GiB", algorithm: str | None = None) -> CollectiveResult:
    """Times one collective over message sizes, as nccl-tests does. Raises ScenarioError."""
    options = ["--algorithm", algorithm] if algorithm else []
    return CollectiveResult(
        json_output(["collective", kind, "--cluster", cluster, "--group", group, "--bytes", bytes, *options])
    )


def _as_one_document(scenario: Scenario) -> Scenario:
    """The same without replaced keys and options, which some commands take for all scenarios at once or not at all."""
    if not scenario.replaced and not scenario.options:
        return scenario
    with written([scenario]) as files:
        arguments = ["run", *files.arguments[0], *set_options(scenario), "--dump", "scenario"]
        return Scenario(Document(output(arguments, files.names)))


def _block(
    grid: Mapping[str, Sequence[Any]] | None,
    zip: Mapping[str, Sequence[Any]] | None,
    points: Sequence[Mapping[str, Any]] | None,
) -> dict[str, Any]:
    """The `sweep` block of a scenario; empty if nothing is given."""
    block: dict[str, Any] = {}
    if grid is not None:
        block["grid"] = {key: list(values) for key, values in grid.items()}
    if zip is not None:
        block["zip"] = {key: list(values) for key, values in zip.items()}
    if points is not None:
        block["list"] = [dict(point) for point in points]
    return block


def _sweep(scenario: Scenario, block: Mapping[str, Any], options: Sequence[str]) -> None:
    with written([scenario]) as files:
        file = files.arguments[0][0]
        if not block:
            output(["sweep", file, *options], files.names)
            return
        document = Document(json.dumps({"scenario": str(Path(file).resolve()), "sweep": block}, indent=1))
        with written([Scenario(document)], ["sweep.yaml"]) as sweeps:
            output(["sweep", *sweeps.arguments[0], *options], {**files.names, **sweeps.names})


def _number(cell: str) -> Any:
    """A cell of a sweep's CSV."""
    if cell == "":
        return None
    try:
        return json.loads(cell)
    except json.JSONDecodeError:
        return cell
