// Lines and dots over two axes, each logarithmic or linear.
import { axisX, axisY, dot, line, plot, pointer, ruleX, tip } from "@observablehq/plot";
import { page_colours } from "../colours.js";
import { element, swatch } from "../dom.js";
import { byteUnit, format, timeUnit } from "../format.js";
import { chart } from "./chart.js";

/** 0.01, 1, 100, 10k, 1M or "1 MB"; only these leading digits are named. */
function short(value, unit, leading) {
  const digit = value / 10 ** Math.floor(Math.log10(value) + 1e-6);
  if (!leading.some((named) => Math.abs(digit - named) < 1e-6)) return "";
  if (unit) return format(value, unit).replace(/\.0+(?= )/, "");
  return value >= 1e6 ? `${value / 1e6}M` : value >= 1e4 ? `${value / 1e3}k` : String(Number(value.toPrecision(1)));
}

/** Scale, name and ticks of an axis: a linear one counts in the unit that fits its largest value. */
function axisOf({ title, unit, log, zero }, values) {
  const most = Math.max(...values);
  if (log) {
    const leading = most / Math.min(...values) > 100 ? [1] : [1, 2, 5];
    return { factor: 1, scale: { type: "log", grid: true }, marks: { label: title, ticks: 5, tickFormat: (value) => short(value, unit, leading) } };
  }
  const fits = unit === "s" ? timeUnit(most) : unit === "B" ? byteUnit(most) : unit === "share" ? { unit: "%", factor: 100 } : { unit: "", factor: 1 };
  return { factor: fits.factor, scale: { type: "linear", zero, nice: true, grid: true }, marks: { label: fits.unit ? `${title} (${fits.unit})` : title, ticks: 6 } };
}

const told = (value, unit) => (unit ? format(value, unit) : String(Number(value.toPrecision(4))));

export function lines({ title, lines: list, x, y }) {
  const points = list.flatMap(({ name, line: joined, dashed, dots, notes, x: xs, y: ys }) => [...xs].map((px, i) =>
    ({ name, joined, dashed, dots, x: px, y: ys[i], text: [name, `${told(px, x.unit)}: ${told(ys[i], y.unit)}`, notes?.[i]].filter(Boolean).join("\n") })));
  const across = axisOf(x, points.map((point) => point.x)), up = axisOf(y, points.map((point) => point.y));
  for (const point of points) {
    point.x *= across.factor;
    point.y *= up.factor;
  }
  const colour = (name) => page_colours.of(name);
  const of = (name) => points.filter((point) => point.name === name);
  const draw = (width) => plot({
    width, height: 340, marginLeft: 64, marginBottom: 42, style: { fontSize: "12px" }, x: across.scale, y: up.scale,
    marks: [
      ...list.filter((one) => one.line ?? true).map(({ name, dashed }) => line(of(name), { x: "x", y: "y", stroke: colour(name), strokeWidth: 2, strokeDasharray: dashed ? "6 4" : undefined })),
      ...list.filter(({ dots }) => dots).map(({ name, line: joined }) => dot(of(name), { x: "x", y: "y", r: joined ? 4 : 2.6, fill: colour(name), fillOpacity: joined ? 1 : 0.55 })),
      axisX({ ...across.marks, labelOffset: 34 }), axisY(up.marks),
      ruleX(points, pointer({ px: "x", py: "y", x: "x", stroke: "var(--line)" })),
      tip(points, pointer({ x: "x", y: "y", title: "text" })),
    ],
  });
  return element("div", {}, element("ul", { class: "legend" }, list.map(({ name, dashed }) => element("li", {}, swatch(colour(name)), dashed ? `${name} (dashed)` : name))), chart(title, draw));
}
