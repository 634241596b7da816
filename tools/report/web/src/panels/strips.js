// Memory over time: a strip for each stage, stacked by kind, under the line of what the chip has.
import { areaY, axisX, plot, ruleY, text } from "@observablehq/plot";
import { page_colours } from "../colours.js";
import { element, swatch } from "../dom.js";
import { byteUnit, format, timeUnit } from "../format.js";
import { chart, numbers, room } from "./chart.js";

export function strips({ title, rows, capacity, end_ns }) {
  const { unit, factor } = timeUnit(end_ns * 1e-9);
  const highest = Math.max(...rows.map(({ peak }) => peak));
  const { unit: size_unit, factor: size_factor } = byteUnit(highest);
  const near = capacity < 3 * highest; // a line far above would flatten the strips
  const top = (near ? Math.max(highest, capacity) : highest) * 1.08;
  const kinds = Object.keys(rows[0].kinds).filter((kind) => rows.some((row) => row.kinds[kind].some((size) => size > 0)));
  const points = rows.flatMap((row) => kinds.flatMap((kind) => [...row.time, end_ns].map((time, i) => {
    const size = row.kinds[kind][Math.min(i, row.time.length - 1)];
    return { row: row.name, kind, time: time * 1e-9 * factor, size: size * size_factor, fill: page_colours.of(kind) };
  })));
  const names = rows.map(({ name }) => name);
  const high = rows.length > 8 ? 32 : rows.length > 2 ? 70 : 170;
  const draw = (width) => plot({
    width, height: 40 + rows.length * (high + 4), marginLeft: room(names, 160) + 44, marginRight: 78, marginTop: 6, marginBottom: 34, style: { fontSize: "12px" },
    fy: { domain: names, label: null, axis: null, padding: 0.08 },
    x: { domain: [0, end_ns * 1e-9 * factor] }, y: { domain: [0, top * size_factor], ticks: high > 100 ? 5 : 2, label: null, grid: true },
    marks: [
      areaY(points, { fy: "row", x: "time", y: "size", z: "kind", fill: "fill", curve: "step-after" }),
      near ? ruleY([capacity * size_factor], { stroke: "var(--bad)", strokeDasharray: "5 3", strokeWidth: 1.4 }) : null,
      text(rows, { fy: "name", frameAnchor: "left", text: "name", textAnchor: "end", dx: -36 }),
      text(rows, { fy: "name", frameAnchor: "right", text: (row) => format(row.peak, "B"), textAnchor: "start", dx: 6, fill: (row) => (row.peak > capacity ? "var(--bad)" : "currentColor") }),
      axisX({ anchor: "bottom", label: unit, ticks: width / 110 }),
    ],
  });
  return element("div", {},
    element("ul", { class: "legend" }, kinds.map((kind) => element("li", {}, swatch(page_colours.of(kind)), kind)),
      element("li", {}, near ? "– – the chip's " : "the chip has ", format(capacity, "B")), element("li", {}, `scale in ${size_unit}, right: peak`)),
    chart(title, draw),
    numbers([{ name: "" }, { name: "peak", unit: "B" }], rows.map(({ name, peak }) => [name, peak])));
}
