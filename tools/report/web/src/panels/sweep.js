// An output of a sweep over one swept key, coloured by another; readers choose which.
import { axisX, axisY, dot, line, plot, ruleY } from "@observablehq/plot";
import { page_colours } from "../colours.js";
import { element, fill, swatch } from "../dom.js";
import { byteUnit, format, timeUnit } from "../format.js";
import { chart } from "./chart.js";

const most_named = 16; // values of a key that stand one beside the other; more numbers than that lie on a scale

function choice(label, names, chosen, changed) {
  const select = element("select", { "aria-label": label, onchange: () => changed(select.value === "" ? null : Number(select.value)) },
    names.map(([value, name]) => element("option", { value: value ?? "", selected: value === chosen }, name)));
  return element("label", {}, `${label} `, select);
}

function scaleOf(unit, largest) {
  if (unit === "s") return timeUnit(largest);
  if (unit === "B") return byteUnit(largest);
  return unit === "share" ? { unit: "%", factor: 100 } : { unit: null, factor: 1 };
}

export function sweep({ title, keys, outputs, y, x, by }) {
  const chosen = { y, x, by: by ?? null };
  const count = outputs[0].values.length;
  const named = (key) => !key.numbers || key.values.length <= most_named;
  const at = (key, i) => (named(key) ? key.values[key.cells[i]] : Number(key.values[key.cells[i]]));
  const label = (i) => keys.map((key) => `${key.name} ${key.values[key.cells[i]] || "–"}`).join("\n");

  /** Points of the picture, and of those alike in what is shown the best one. */
  const shown = () => {
    const output = outputs[chosen.y], key = keys[chosen.x], group = chosen.by === null ? null : keys[chosen.by];
    const known = [...Array(count).keys()].filter((i) => !Number.isNaN(output.values[i]));
    const { unit, factor } = scaleOf(output.unit, known.reduce((most, i) => Math.max(most, output.values[i]), 0));
    const points = known.map((i) => ({ x: at(key, i), y: output.values[i] * factor, place: key.cells[i], group: group ? group.values[group.cells[i]] || "–" : "", title: `${output.name} ${format(output.values[i], output.unit)}\n${label(i)}` }));
    const best = new Map();
    for (const point of points) {
      const same = `${point.group}\n${point.place}`, other = best.get(same);
      if (!other || (output.less ? point.y < other.y : point.y > other.y)) best.set(same, point);
    }
    return { output, key, group, unit, points, best: [...best.values()].sort((a, b) => a.place - b.place) };
  };

  const body = element("div", {});
  const show = () => {
    const { output, key, group, unit, points, best } = shown();
    const groups = group ? group.values.map((name) => name || "–").filter((name) => points.some((point) => point.group === name)) : [""];
    const colour = (name) => (groups.length > 1 ? page_colours.of(`${group.name} ${name}`) : page_colours.of("computing"));
    const draw = (width) => plot({
      width, height: 360, marginLeft: 64, marginBottom: 44, style: { fontSize: "12px" },
      x: named(key) ? { type: "point", domain: key.values, label: key.name, padding: 0.5 } : { type: "linear", label: key.name },
      y: { zero: true, grid: true, label: unit ? `${output.name} (${unit})` : output.name },
      marks: [
        ruleY([0]),
        dot(points, { x: "x", y: "y", fill: (point) => colour(point.group), r: 2, fillOpacity: 0.35 }),
        line(best, { x: "x", y: "y", z: "group", stroke: (point) => colour(point.group), strokeWidth: 2 }),
        dot(best, { x: "x", y: "y", fill: (point) => colour(point.group), r: 3.5, title: "title", tip: true }),
        axisX({ label: key.name, labelOffset: 36, tickFormat: (value) => (String(value).length > 16 ? `${String(value).slice(0, 15)}…` : String(value)) }), axisY({ ticks: 6 }),
      ],
    });
    fill(body,
      element("div", { class: "choices" },
        choice("show", outputs.map(({ name }, i) => [i, name]), chosen.y, (value) => { chosen.y = value; show(); }),
        choice("over", keys.map(({ name }, i) => [i, name]), chosen.x, (value) => { chosen.x = value; show(); }),
        choice("by", [[null, "nothing"], ...keys.map(({ name }, i) => [i, name])], chosen.by, (value) => { chosen.by = value; show(); })),
      groups.length > 1 && element("ul", { class: "legend" }, groups.map((name) => element("li", {}, swatch(colour(name)), name))),
      chart(title, draw));
  };
  show();
  return body;
}
