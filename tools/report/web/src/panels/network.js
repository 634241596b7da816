// What links carry: a row of time for each class of links, and the table of their loads.
import { axisX, plot, rect, text } from "@observablehq/plot";
import { element, swatch } from "../dom.js";
import { format, timeUnit } from "../format.js";
import { chart, room, shortened } from "./chart.js";
import { table } from "./table.js";

export function network({ title, rows, end_ns }) {
  const { unit, factor } = timeUnit(end_ns * 1e-9);
  const names = rows.map(({ name, alike }) => (alike > 1 ? `${name} × ${format(alike, "count")}` : name));
  const cells = rows.flatMap((row, i) => {
    const wide = (end_ns * 1e-9 * factor) / row.over_time.length;
    return joined(row.over_time).map(([from, to, used]) => ({ row: names[i], from: from * wide, to: to * wide, used,
      text: `${names[i]}\n${format((from * wide) / factor, "s")} – ${format((to * wide) / factor, "s")}: ${format(used, "share")}` }));
  });
  const draw = (width) => plot({
    width, height: 40 + rows.length * 24, marginLeft: room(names, width * 0.3), marginRight: 70, marginTop: 6, marginBottom: 34, style: { fontSize: "12px" },
    fy: { domain: names, label: null, tickSize: 0, tickFormat: (name) => shortened(name, width * 0.3), padding: 0.16 },
    x: { domain: [0, end_ns * 1e-9 * factor] }, y: { axis: null, domain: [0, 1] },
    marks: [
      rect(names, { fy: (name) => name, x1: 0, x2: end_ns * 1e-9 * factor, y1: 0, y2: 1, fill: "var(--lane)" }),
      rect(cells, { fy: "row", x1: "from", x2: "to", y1: 0, y2: 1, fill: "var(--load)", fillOpacity: (cell) => Math.min(1, cell.used), title: "text", tip: true }),
      text(rows, { fy: (_, i) => names[i], frameAnchor: "right", textAnchor: "start", dx: 6, text: (row) => format(row.used, "share") }),
      axisX({ anchor: "bottom", label: unit, ticks: width / 110 }),
    ],
  });
  const columns = [{ name: "link" }, { name: "alike", unit: "count" }, { name: "kind" }, { name: "bandwidth", unit: "B/s" }, { name: "carries", unit: "B" }, { name: "busy", unit: "share" }, { name: "used", unit: "share" }, { name: "peak", unit: "share" }];
  const scale = [0, 0.25, 0.5, 0.75, 1].map((used) => element("li", {}, swatch(`color-mix(in srgb, var(--load) ${100 * used}%, var(--lane))`), `${100 * used} %`));
  return element("div", {}, element("ul", { class: "legend" }, scale), chart(title, draw),
    element("details", {}, element("summary", {}, "as numbers"), table({ columns, rows: rows.map((row) => [row.name, row.alike, row.kind, row.bandwidth, row.bytes, row.busy, row.used, row.peak]) })));
}

/** Neighbouring bins of about the same load as one: [from, to, load]; without those that carry nothing. */
function joined(loads) {
  const pieces = [];
  loads.forEach((load, bin) => {
    const last = pieces[pieces.length - 1];
    if (last && Math.abs(last[2] - load) < 0.01) last[1] = bin + 1;
    else pieces.push([bin, bin + 1, load]);
  });
  return pieces.filter(([, , load]) => load > 0.002);
}
