// The timeline for other programs: the part on the screen as SVG, all of it as a trace that Perfetto reads.
import { element } from "../dom.js";
import { gutter } from "./drawing.js";
import { firstEndingAfter } from "./model.js";

const escaped = (text) => String(text).replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
const cssOf = (colour) => `#${[0, 8, 16].map((shift) => ((colour >>> shift) & 255).toString(16).padStart(2, "0")).join("")}`;

/** Hands a file to the reader. */
export function save(name, type, text) {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Spans that end within one pixel of the one before, in its colour, are one rectangle. */
export function svgOf(model, { layout, palette, window, theme, legend }, width) {
  const plot = width - gutter;
  const x = (time) => gutter + ((Math.min(Math.max(time, window.from), window.to) - window.from) / window.length) * plot;
  const parts = [];
  let group = null;
  for (const { lane, y, height } of layout.rows) {
    if (lane.group !== group) {
      group = lane.group;
      parts.push(`<text x="2" y="${y + 12}" font-weight="600">${escaped(lane.run.name && model.runs.length > 1 ? `${lane.run.name}: ` : "")}${escaped(group.name)}</text>`);
    }
    parts.push(`<rect x="${gutter}" y="${y}" width="${plot}" height="${height}" fill="${cssOf(theme.lane)}"/>`);
    const { colour } = palette.runs[lane.run.number];
    let open = null;
    const close = () => open && parts.push(`<rect x="${open.left.toFixed(2)}" y="${y}" width="${Math.max(0.2, open.right - open.left).toFixed(2)}" height="${height}" fill="${open.fill}"><title>${escaped(open.title)}</title></rect>`);
    for (let i = firstEndingAfter(lane, window.from); i < lane.start.length && lane.start[i] < window.to; ++i) {
      const left = x(lane.start[i]), right = x(lane.end[i]), fill = cssOf(colour[lane.op[i]]);
      if (open && open.fill === fill && left - open.right < 0.5 && right - open.left < 1) {
        open.right = right;
        continue;
      }
      close();
      open = { left, right, fill, title: `${lane.run.operations.name(lane.op[i])}: ${model.time(lane.end[i] - lane.start[i])} from ${model.times(lane.start[i], lane.end[i])[0]}` };
    }
    close();
  }
  const below = layout.height + 16;
  let at = gutter;
  const key = legend.map(([name, fill]) => {
    const entry = `<rect x="${at}" y="${below - 9}" width="10" height="10" fill="${escaped(fill)}"/><text x="${at + 14}" y="${below}">${escaped(name)}</text>`;
    at += 30 + 7 * name.length;
    return entry;
  });
  const [from, to] = model.times(window.from, window.to);
  const range = `<text x="${gutter}" y="12">${escaped(from)}</text><text x="${width - 4}" y="12" text-anchor="end">${escaped(to)}</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${below + 10}" font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="#ffffff"/>${range}${parts.join("")}${key.join("")}</svg>\n`;
}

/** Chrome's JSON: a process for each run and rank, a thread for each lane, times in microseconds. */
export function traceOf(model) {
  const events = [];
  let process = 0;
  for (const run of model.runs) {
    for (const group of run.groups) {
      process += 1;
      events.push({ ph: "M", name: "process_name", pid: process, args: { name: `${run.name}: ${group.name} ${group.note ?? ""}` } });
      group.lanes.forEach((lane, thread) => {
        events.push({ ph: "M", name: "thread_name", pid: process, tid: thread, args: { name: lane.name } });
        lane.op.forEach((op, i) => events.push({ ph: "X", pid: process, tid: thread, ts: lane.start[i] / 1000, dur: (lane.end[i] - lane.start[i]) / 1000,
          name: run.operations.short(op), cat: run.operations.pass(op), args: { block: run.operations.word("block", op), microbatch: run.operations.microbatch(op) } }));
      });
    }
  }
  return JSON.stringify({ traceEvents: events, displayTimeUnit: "ms" });
}

const perfetto = "https://ui.perfetto.dev";

/** Opens Perfetto's page and hands it the trace, which stays in this browser: the way its documentation describes. */
export function openInPerfetto(model, title) {
  const tab = open(perfetto);
  if (!tab) return;
  const asking = setInterval(() => tab.postMessage("PING", perfetto), 100);
  const answer = ({ data, origin }) => {
    if (origin !== perfetto || data !== "PONG") return;
    clearInterval(asking);
    removeEventListener("message", answer);
    tab.postMessage({ perfetto: { buffer: new TextEncoder().encode(traceOf(model)).buffer, title } }, perfetto);
  };
  addEventListener("message", answer);
  setTimeout(() => clearInterval(asking), 60000);
}
