// Stacked bars: what makes up a whole, for each of several.
import { axisX, barX, plot, ruleX } from "@observablehq/plot";
import { page_colours } from "../colours.js";
import { element, swatch } from "../dom.js";
import { byteUnit, format, timeUnit } from "../format.js";
import { chart, numbers, room, shortened } from "./chart.js";

export function bars({ title, rows, unit }) {
  const kinds = new Map(); // what -> colour, those that are there
  for (const { pieces } of rows) for (const { what, colour } of pieces) kinds.set(what, page_colours.of(colour));
  for (const what of kinds.keys()) if (!rows.some(({ pieces }) => pieces.some((piece) => piece.what === what && piece.value > 0))) kinds.delete(what);
  const total = ({ pieces }) => pieces.reduce((sum, { value }) => sum + Math.max(value, 0), 0);
  const longest = Math.max(...rows.map(total));
  const { unit: shown, factor } = unit === "s" ? timeUnit(longest) : unit === "B" ? byteUnit(longest) : { unit: unit === "number" ? null : unit, factor: 1 };
  const data = rows.flatMap(({ name, pieces }) => pieces.filter(({ value }) => value > 0).map(({ what, value, colour }) =>
    ({ name, what, value: value * factor, fill: page_colours.of(colour), text: `${name}\n${what}: ${format(value, unit)}` })));
  const names = rows.map(({ name }) => name);
  const thick = rows.length > 20 ? 14 : rows.length > 8 ? 20 : 26;
  const draw = (width) => plot({
    width, height: 44 + rows.length * thick, marginLeft: room(names, width * 0.45), marginTop: 6, marginRight: 12, marginBottom: 36, style: { fontSize: "12px" },
    y: { domain: names, label: null, tickSize: 0, tickFormat: (name) => shortened(name, width * 0.45), padding: 0.18 },
    x: { label: shown, domain: [0, longest * factor], grid: true },
    marks: [barX(data, { x: "value", y: "name", fill: "fill", z: "what", order: null, title: "text", tip: true, insetRight: 0.5 }), ruleX([0]), axisX({ ticks: Math.max(3, width / 110), label: shown })],
  });
  const columns = [{ name: "" }, ...[...kinds.keys()].map((name) => ({ name, unit })), { name: "sum", unit }];
  const cells = rows.map((row) => [row.name, ...[...kinds.keys()].map((what) => row.pieces.find((piece) => piece.what === what)?.value ?? 0), total(row)]);
  const key = ([what, colour]) => element("li", {}, swatch(colour), what);
  const colour_by_row = rows.length > 1 && rows.every(({ pieces }) => pieces.length === 2 && pieces[1].what === "hidden");
  return element("div", {},
    element("ul", { class: "legend" }, colour_by_row ? [element("li", {}, "in colour: exposed"), [...kinds].filter(([what]) => what === "hidden").map(key)] : [...kinds].map(key)),
    chart(title, draw), numbers(columns, cells));
}
