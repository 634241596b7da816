// What is known about one span, in words.
import { element } from "../dom.js";
import { format } from "../format.js";
import { becauseOf } from "./model.js";

/** Why a span did not start earlier: [text, span that it waited for or undefined]. */
function whyThen(model, [lane, index]) {
  const { group, run } = lane;
  const { how: because, op, rank } = becauseOf(lane, index);
  const name = op >= 0 ? run.operations.name(op) : "";
  const place = op >= 0 ? model.find(group, op) : undefined;
  const gap = index > 0 ? lane.start[index] - lane.end[index - 1] : lane.start[index];
  const idle = gap > 0 ? `; the lane was free for ${model.time(gap)} before` : "";
  if (op < 0) return [lane.start[index] === 0 ? "nothing: it starts with the step" : `nothing that is recorded${idle}`, undefined];
  const elsewhere = rank >= 0;
  const where = elsewhere ? ` on rank ${rank}, which takes part in it` : "";
  const how = because === 2 ? `its lane was busy with ${name}${where}` : `it needs ${name}${where}, which ended then${idle}`;
  return [how, elsewhere ? undefined : place];
}

/** [label, text] of all that an operation says. */
export function facts(model, [lane, index]) {
  const { operations } = lane.run;
  const op = lane.op[index];
  const { data } = operations;
  const computes = operations.computes(op);
  const [from, to] = model.times(lane.start[index], lane.end[index]);
  const rows = [
    ["time", `${model.time(lane.end[index] - lane.start[index])}, from ${from} to ${to}`],
    ["where", `${lane.group.name} ${lane.group.note}, ${lane.name}`],
    ["what", `${operations.word("kind", op)}, ${operations.pass(op)} of microbatch ${data.microbatch[op]}`],
  ];
  const add = (label, text) => text && rows.push([label, text]);
  add("shapes", operations.word("detail", op));
  if (computes) {
    add("work", operations.flops(op) > 0 && `${format(operations.flops(op), "FLOP")} at ${format(operations.flops(op) / ((lane.end[index] - lane.start[index]) * 1e-9), "FLOP/s")}`);
    add("memory traffic", data.bytes[op] > 0 && format(data.bytes[op], "B"));
  } else {
    add("size", data.bytes[op] > 0 && `${format(data.bytes[op], "B")} in full, over ${operations.word("axes", op)}`);
    add("algorithm", operations.word("algorithm", op));
    add("because", operations.word("reason", op));
  }
  add("overlaps", data.pair[op] > 0 && "a half of an overlapped pair of passes");
  return rows;
}

function link(model, place, text, choose) {
  return place ? element("button", { class: "link", onclick: () => choose(place) }, text) : text;
}

function listed(model, group, operations, ops, choose) {
  const most = 12;
  const items = ops.slice(0, most).map((op) => {
    const place = model.find(group, op);
    return element("li", {}, link(model, place, operations.name(op), choose), place ? "" : " (another rank)");
  });
  if (ops.length > most) items.push(element("li", {}, `and ${ops.length - most} more`));
  return items.length > 0 ? element("ul", {}, items) : "nothing";
}

/** The drawer beside a span; `choose` selects another span. */
export function details(model, span, choose) {
  const [lane, index] = span;
  const { operations } = lane.run;
  const op = lane.op[index];
  const [why, place] = whyThen(model, span);
  const reasons = !model.ticks; // schedules by themselves tell none
  const row = (label, ...content) => [element("dt", {}, label), element("dd", {}, content)];
  return [
    element("h3", {}, operations.name(op)),
    element("dl", { class: "facts" }, facts(model, span).map(([label, text]) => row(label, text)), reasons && row("started then because", link(model, place, why, choose))),
    reasons && element("div", { class: "neighbours" },
      element("div", {}, element("h4", {}, "needs"), listed(model, lane.group, operations, [...operations.before(op)], choose)),
      element("div", {}, element("h4", {}, "is needed by"), listed(model, lane.group, operations, operations.after(op), choose))),
  ];
}
