// Lines over logarithmic axes.
import { axisX, axisY, line, plot, pointer, ruleX, tip } from "@observablehq/plot";
import { page_colours } from "../colours.js";
import { element, swatch } from "../dom.js";
import { chart } from "./chart.js";

/** 0.01, 1, 100, 10k, 1M; only powers of ten are named. */
function short(value) {
  if (Math.abs(Math.log10(value) - Math.round(Math.log10(value))) > 1e-6) return "";
  return value >= 1e6 ? `${value / 1e6}M` : value >= 1e4 ? `${value / 1e3}k` : String(Number(value.toPrecision(1)));
}

export function lines({ title, lines: list, x, y }) {
  const points = list.flatMap(({ name, dashed, x: xs, y: ys }) => [...xs].map((px, i) => ({ name, dashed, x: px, y: ys[i] })));
  const colour = (name) => page_colours.of(name);
  const draw = (width) => plot({
    width, height: 340, marginLeft: 56, marginBottom: 42, style: { fontSize: "12px" },
    x: { type: "log", grid: true }, y: { type: "log", grid: true },
    marks: [
      ...list.map(({ name, dashed }) => line(points.filter((point) => point.name === name), { x: "x", y: "y", stroke: colour(name), strokeWidth: 2, strokeDasharray: dashed ? "6 4" : undefined })),
      axisX({ label: x, labelOffset: 34, ticks: 5, tickFormat: short }), axisY({ label: y, ticks: 5, tickFormat: short }),
      ruleX(points, pointer({ px: "x", py: "y", x: "x", stroke: "var(--line)" })),
      tip(points, pointer({ x: "x", y: "y", title: (point) => `${point.name}\n${Number(point.x.toPrecision(4))}: ${Number(point.y.toPrecision(4))}` })),
    ],
  });
  return element("div", {}, element("ul", { class: "legend" }, list.map(({ name, dashed }) => element("li", {}, swatch(colour(name)), dashed ? `${name} (dashed)` : name))), chart(title, draw));
}
