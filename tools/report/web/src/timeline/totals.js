// Totals of the operations between two times: how often, how long, on which lanes.
import { element } from "../dom.js";
import { table } from "../panels/table.js";
import { firstEndingAfter } from "./model.js";

/** By run, lane and name: {group, lane, name, count, time}; spans that reach out of the range count with their part inside. */
export function totalsOf(model, from, to) {
  const found = new Map();
  for (const lane of model.lanes) {
    const { operations } = lane.run;
    for (let i = firstEndingAfter(lane, from); i < lane.start.length && lane.start[i] < to; ++i) {
      const name = `${operations.short(lane.op[i])}${lane.computes ? `, ${operations.pass(lane.op[i])}` : ""}`;
      const key = `${lane.run.number}\n${lane.group.number}\n${lane.name}\n${name}`;
      if (!found.has(key)) found.set(key, { run: lane.run.name, group: lane.group.name, lane: lane.name, name, count: 0, time: 0 });
      const row = found.get(key);
      row.count += 1;
      row.time += Math.min(lane.end[i], to) - Math.max(lane.start[i], from);
    }
  }
  return [...found.values()].sort((a, b) => b.time - a.time);
}

const most = 400;

/** The drawer of a range; `ticks`, of schedules by themselves, are no seconds. */
export function totals(model, from, to) {
  const rows = totalsOf(model, from, to);
  const several = model.runs.length > 1;
  const unit = model.ticks ? "number" : "s";
  const factor = model.ticks ? 1 / model.ticks : 1e-9;
  const columns = [...(several ? [{ name: "run" }] : []), { name: "lane" }, { name: "operation" }, { name: "count", unit: "count" }, { name: "time", unit }, { name: "of the range", unit: "share" }];
  const cells = rows.slice(0, most).map((row) => [...(several ? [row.run] : []), `${row.group}, ${row.lane}`, row.name, row.count, row.time * factor, row.time / (to - from)]);
  return element("div", { class: "totals" },
    element("h3", {}, `${model.time(to - from)} from ${model.times(from, to).join(" to ")}`),
    rows.length > most && element("p", { class: "quiet" }, `the ${most} longest of ${rows.length}`),
    table({ columns, rows: cells }));
}
