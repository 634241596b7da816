"""What functions return: the program's JSON with keys as attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Sequence

from ._scenarios import HasScenario, Scenario

if TYPE_CHECKING:
    import pandas


class Record(Mapping[str, Any]):
    """A read-only map whose keys are attributes: `record.memory.fits`, or `record["memory"]["fits"]`."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getitem__(self, key: str) -> Any:
        return as_record(self._values[key])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no '{name}' here; there are {', '.join(self._values)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._values]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={brief(value)}' for key, value in self._values.items())})"

    def to_dict(self) -> dict[str, Any]:
        """The plain JSON."""
        return self._values


def as_record(value: Any) -> Any:
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return [as_record(one) for one in value]
    return value


def brief(value: Any) -> str:
    """A value of a map in one line: lists and maps by their size."""
    if isinstance(value, dict):
        return f"{{{len(value)} keys}}"
    if isinstance(value, list):
        return f"[{len(value)}]"
    return repr(value)


def frame(rows: Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    """Rows as a table of pandas; inner maps become columns such as memory.peak_bytes."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_frame() needs pandas (Debian: python3-pandas)") from error
    return pandas.json_normalize([dict(row) for row in rows])


def seconds_text(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds / 1e-9:.0f} ns"


def html_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Memory(Record):
    peak_bytes: int
    capacity_bytes: int
    fits: bool | None
    verdict: str | None


class RunResult(Record, HasScenario):
    """A simulated step: the keys of result.json, and the pictures and traces that the program makes of it."""

    scenario: str
    step_time_s: float
    mfu: float
    tokens_per_s: float
    chips: int

    model: str
    cluster: str
    tokens_per_step: int
    tokens_per_s_per_chip: float
    model_flops_per_step: float
    hfu: float
    tflops_per_chip: float
    params: int
    critical_rank: int
    notes: list[str]
    breakdown: Record
    comm: list[Record]
    mesh: list[Record]
    pipeline: Record
    stages: list[Record]
    links: list[Record]
    critical_path: Record
    engine: Record

    def __init__(self, values: Mapping[str, Any], given: Scenario, options: Sequence[str] = ()) -> None:
        super().__init__(values)
        self.scenario_given = given
        self._options = tuple(options)  # of the run
        self._timeline: str | None = None

    @property
    def memory(self) -> Memory:
        return Memory(self._values["memory"])

    def save(self, folder: str | Path) -> Path:
        """Writes report.html, result.json, timeline.svg and trace.pftrace.gz, as `lockstep run --out` does."""
        from ._commands import write_report

        write_report(self.scenario_given, self._options, Path(folder))
        return Path(folder)

    @property
    def timeline_svg(self) -> str:
        """The timeline of one rank of each pipeline stage."""
        if self._timeline is None:
            import tempfile

            with tempfile.TemporaryDirectory(prefix="lockstep-") as folder:
                self._timeline = (self.save(Path(folder) / "step") / "timeline.svg").read_text()
        return self._timeline

    def to_frame(self) -> pandas.DataFrame:
        """Collectives: a row for each axis and kind."""
        return frame(self._values["comm"])

    def _repr_html_(self) -> str:
        memory = self._values["memory"]
        verdict = memory["verdict"] or "whether it fits is not known"
        fits = verdict.upper() if verdict in ("may not fit", "does not fit") else verdict
        words = (
            f"<b>{escape(self.scenario)}</b>: step {seconds_text(self.step_time_s)}, MFU {100 * self.mfu:.1f} %, "
            f"{self.tokens_per_s:,.0f} tokens/s on {self.chips:,} chips; memory peak {memory['peak_bytes'] / 1e9:.1f} GB "
            f"of {memory['capacity_bytes'] / 1e9:.1f} GB, {fits}"
        )
        return f"<div>{words}</div>{self.timeline_svg}"


class Plan(Record, HasScenario):
    """One of the plans that a search found; run(plan) simulates its step."""

    step_time_s: float
    mfu: float

    def __init__(self, values: Mapping[str, Any], given: Scenario) -> None:
        super().__init__(values)
        self.scenario_given = given


class PlanResult(Record, HasScenario):
    """What a search found. It stands for its best plan."""

    def __init__(self, values: Mapping[str, Any], searched: Scenario) -> None:
        super().__init__(values)
        self._searched = searched

    @property
    def plans(self) -> list[Plan]:
        """The best plans, the fastest first; empty if none keeps within the memory."""
        return [
            Plan(one, Scenario(self._searched.source, (*self._searched.replaced, *one["set"]), self._searched.options))
            for one in self._values["best"]
        ]

    @property
    def best(self) -> Plan:
        """The fastest plan. Raises LookupError if none keeps within the memory."""
        if not self._values["best"]:
            raise LookupError("no plan keeps within the memory")
        return self.plans[0]

    @property
    def scenario_given(self) -> Scenario:  # type: ignore[override]
        return self.best.scenario_given

    def to_frame(self) -> pandas.DataFrame:
        """A row for each of the best plans."""
        return frame(self._values["best"])

    def _repr_html_(self) -> str:
        rows = [
            (i + 1, seconds_text(one.step_time_s), f"{100 * one.mfu:.1f} %", ", ".join(one["set"]))
            for i, one in enumerate(self.plans)
        ]
        return html_table(["", "step", "MFU", "plan"], rows)


class CompareResult(Record):
    """Scenarios side by side; the first is the one that ratios are taken to."""

    scenarios: list[Record]
    changed: Record

    def to_frame(self) -> pandas.DataFrame:
        """A row for each scenario."""
        return frame([{"name": one["name"], **one["result"]} for one in self._values["scenarios"]])

    def _repr_html_(self) -> str:
        rows = [
            (
                one["name"],
                seconds_text(one["result"]["step_time_s"]),
                f"{one['step_time_ratio']:.3f}",
                f"{100 * one['result']['mfu']:.1f} %",
            )
            for one in self._values["scenarios"]
        ]
        return html_table(["scenario", "step", "ratio", "MFU"], rows)


class SweepResult(Record):
    """The points of a sweep: `points` has the swept keys and the outputs of each."""

    points: list[Record]

    def to_frame(self) -> pandas.DataFrame:
        """A row for each point."""
        return frame(self._values["points"])

    def _repr_html_(self) -> str:
        points = self._values["points"]
        header = list(points[0])[:8] if points else []
        return html_table(header, [[point[key] for key in header] for point in points[:50]])


class ScheduleResult(Record):
    """Pipeline schedules by themselves: `schedules` has makespan, bubbles and memory of each."""

    schedules: list[Record]

    def to_frame(self) -> pandas.DataFrame:
        """A row for each schedule."""
        return frame(self._values["schedules"])

    def _repr_html_(self) -> str:
        rows = [
            (one["schedule"], one["makespan"], f"{100 * one['bubble_step_fraction']:.1f} %")
            for one in self._values["schedules"]
        ]
        return html_table(["schedule", "makespan", "bubble of step"], rows)


class GoodputResult(Record):
    """The useful share of a run that is interrupted."""

    goodput: float
    shares: Record


class CollectiveResult(Record):
    """One collective over message sizes."""

    rows: list[Record]

    def to_frame(self) -> pandas.DataFrame:
        """A row for each size."""
        return frame(self._values["rows"])


class CheckResult(Record, HasScenario):
    """A scenario that is right: what it needs of a chip's memory and how long its step takes; None: not known."""

    step_time_s: float | None
    peak_bytes: int | None
    fits: bool | None
    notes: list[str]

    def __init__(self, values: Mapping[str, Any], given: Scenario) -> None:
        super().__init__(values)
        self.scenario_given = given
