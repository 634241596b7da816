"""What functions take for a scenario, and the file that the program reads for it."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator, Mapping, Sequence, Union


@dataclass(frozen=True)
class Document:
    """The YAML text of a scenario."""

    text: str


@dataclass(frozen=True)
class Scenario:
    """A scenario with replaced keys, as results keep it: pass it, or the result, to any function again.

    `source`: the path of a file, a dict, a document, or the name or config.json of a model, which `options` complete.
    """

    source: Union[str, Mapping[str, Any], Document]
    replaced: tuple[str, ...] = ()  # "batch.sequences=512": of one key the last counts
    options: tuple[str, ...] = ()  # of a model


class HasScenario:
    """A result that stands for a scenario."""

    scenario_given: Scenario


ScenarioLike = Union[str, "os.PathLike[str]", Mapping[str, Any], Scenario, HasScenario]


def plain(value: Any) -> Any:
    """Numbers of numpy as Python's, paths as text, whole floats as integers, which is how keys want them."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        return plain(value.item())
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise TypeError(f"a scenario cannot hold {value!r}, a {type(value).__name__}")


def value_text(value: Any) -> str:
    """A value of --set: YAML, of which JSON is a part; text stays as it is, so that quantities have units."""
    value = plain(value)
    return value if isinstance(value, str) else json.dumps(value)


def scenario_of(
    given: ScenarioLike,
    replaced: Mapping[str, Any] | None = None,
    cluster: str | None = None,
    batch_tokens: int | str | None = None,
    sequence_length: int | None = None,
) -> Scenario:
    """The scenario that a function was given, with its own keys on top."""
    options: list[str] = []
    for name, value in (("cluster", cluster), ("batch-tokens", batch_tokens), ("sequence-length", sequence_length)):
        if value is not None:
            options += [f"--{name}", str(value)]
    also = tuple(f"{key}={value_text(value)}" for key, value in (replaced or {}).items())
    if isinstance(given, HasScenario):
        given = given.scenario_given
    if isinstance(given, Scenario):
        return Scenario(given.source, (*given.replaced, *also), (*given.options, *options))
    if isinstance(given, Mapping):
        return Scenario(given, also, tuple(options))
    name = os.fspath(given)
    return Scenario(f"./{name}" if name.startswith("-") else name, also, tuple(options))  # no option


def with_whole_paths(value: Any) -> Any:
    """Files that a dict names, seen from the working directory."""
    if isinstance(value, Mapping):
        return {key: with_whole_paths(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [with_whole_paths(one) for one in value]
    if isinstance(value, os.PathLike) or (isinstance(value, str) and Path(value).suffix and Path(value).is_file()):
        return str(Path(value).resolve())
    return value


@dataclass
class Written:
    """Scenarios as the program takes them."""

    arguments: list[list[str]]  # of each scenario: its file or model, and the options of that model
    names: dict[str, str]  # of temporary files, as messages shall call them


@contextmanager
def written(scenarios: Sequence[Scenario], names: Sequence[str] | None = None) -> Iterator[Written]:
    """Writes dicts to temporary files, which messages call by `names`, or "scenario"."""
    with tempfile.TemporaryDirectory(prefix="lockstep-") as folder:
        result = Written([], {})
        for i, scenario in enumerate(scenarios):
            if isinstance(scenario.source, str):
                result.arguments.append([scenario.source, *scenario.options])
                continue
            name = "scenario" if len(scenarios) == 1 else f"scenario_{i + 1}"
            file = Path(folder) / f"{name}.yaml"
            if isinstance(scenario.source, Document):
                file.write_text(scenario.source.text)
            else:
                file.write_text(json.dumps({"format": 1, **plain(with_whole_paths(scenario.source))}, indent=1))
            result.arguments.append([str(file), *scenario.options])
            result.names[str(file)] = names[i] if names else file.name
        yield result


def set_options(scenario: Scenario) -> list[str]:
    """--set KEY=VALUE for each replaced key."""
    return [option for one in scenario.replaced for option in ("--set", one)]
