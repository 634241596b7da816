// The timeline on a canvas: axis, lanes, labels, what is selected.
import { page_colours } from "../colours.js";
import { timeUnit } from "../format.js";
import { paintRow } from "./raster.js";
import { becauseOf, firstEndingAfter, runsOf } from "./model.js";
import { ticks } from "./window.js";

export const gutter = 168, axis_height = 22;
const narrow_gutter = 112;
const print_ratio = 3; // paper shows more than a screen's pixels
const gap_between_groups = 7, gap_between_runs = 14;
const font = (size, weight = "") => `${weight} ${size}px system-ui, sans-serif`;

/** Where each lane lies; `roomy` gives every lane room for text. */
export function layOut(model, roomy) {
  let y = axis_height + 4;
  let group = null;
  const rows = [], headings = [];
  const taller = roomy ? Math.min(2, Math.max(1, 10 / model.lanes.length)) : 1; // few lanes fill the screen
  for (const lane of model.lanes) {
    if (model.runs.length > 1 && lane.run !== group?.run) {
      y += group ? gap_between_runs : 0;
      headings.push({ y: y + 8, text: lane.run.name });
      y += 20;
    } else if (group && lane.group !== group) {
      y += gap_between_groups;
    }
    group = lane.group;
    const height = lane.computes ? (roomy ? 22 * taller : 17) : roomy ? 16 * taller : lane.name.includes(">") ? 3 : 5;
    rows.push({ lane, y, height });
    y += height + (roomy || lane.computes ? 1 : 0);
  }
  return { rows, headings, row_of: new Map(rows.map((row) => [row.lane, row])), height: y + 6 };
}

/** What a stretch of compute is called when its operations are too narrow to be named: layers, passes of microbatches, pairs. */
function labelRuns(lane, ticks) {
  const { operations } = lane.run;
  const { block, pass, microbatch, pair } = operations.data;
  const text = (op) => (pair[op] > 0 && ticks ? operations.short(op) : number(op));
  const several = microbatch.some((number) => number > 0);
  const number = (op) => (several ? (operations.pass(op) === "update" ? "" : String(microbatch[op])) : operations.pass(op));
  const labelled = (runs, words) => ({ runs, text: words, longest: runs.reduce((most, [start, end]) => Math.max(most, end - start), 0) });
  const by_microbatch = labelled(runsOf(lane, (op) => pass[op] * 1e6 + microbatch[op]), text);
  if (ticks) return [by_microbatch]; // of a schedule by itself
  return [
    labelled(runsOf(lane, (op) => block[op] * 1e7 + pass[op] * 1e6 + microbatch[op]), (op) => operations.word("block", op)),
    by_microbatch,
    { ...labelled(pairsOf(lane), (op) => operations.halves(op)), striped: true },
  ];
}

/** Where the two passes of an overlapped pair take turns. */
function pairsOf(lane) {
  const { pair } = lane.run.operations.data;
  return (lane.pairs ??= runsOf(lane, (op) => pair[op]).filter(([, , first]) => pair[lane.op[first]] > 0));
}

export class Drawing {
  constructor(canvas, model) {
    this.canvas = canvas;
    this.model = model;
    this.context = canvas.getContext("2d");
    this.raster = document.createElement("canvas");
  }

  /** state: {window, layout, palette, theme, found, selected, hovered, critical} */
  draw(state) {
    this.state = state;
    const { canvas, context } = this;
    const ratio = matchMedia("print").matches ? print_ratio : devicePixelRatio || 1;
    this.width = canvas.clientWidth;
    this.height = state.layout.height;
    const wide = Math.round(this.width * ratio), high = Math.round(this.height * ratio);
    if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    this.axis();
    this.lanes(ratio);
    this.names();
    context.save();
    context.beginPath();
    context.rect(this.gutter, 0, this.width - this.gutter, this.height);
    context.clip();
    this.labels();
    this.pairs();
    if (state.critical) this.criticalPath();
    if (state.range) this.range();
    if (state.selected) this.selection();
    if (state.hovered) this.outline(state.hovered, 1);
    context.restore();
  }

  /** Room for names; less on a phone. */
  get gutter() { return this.width < 600 ? narrow_gutter : gutter; }
  get plotWidth() { return Math.max(50, this.width - this.gutter); }
  x(time) { const { window } = this.state; return this.gutter + ((time - window.from) / window.length) * this.plotWidth; }
  shareAt(x) { return (x - this.gutter) / this.plotWidth; }
  timeAt(x) { const { window } = this.state; return window.from + this.shareAt(x) * window.length; }
  rowAt(y) { return this.state.layout.rows.find((row) => y >= row.y && y <= row.y + row.height); }

  axis() {
    const { context, state } = this;
    const { ticks: unit_ticks } = this.model;
    const { unit, factor } = unit_ticks ? { unit: "", factor: 1e9 / unit_ticks } : timeUnit(state.window.length * 1e-9);
    const marks = ticks(state.window.from, state.window.to, Math.max(3, this.plotWidth / 130));
    const step = (marks[1] ?? marks[0]) - marks[0] || 1;
    const decimals = Math.max(0, Math.min(6, -Math.floor(Math.log10(step * 1e-9 * factor) + 1e-9)));
    context.font = font(11);
    context.textBaseline = "middle";
    context.textAlign = "center";
    for (const time of marks) {
      const x = this.x(time);
      context.fillStyle = state.theme.line;
      context.fillRect(Math.round(x), axis_height - 4, 1, this.height);
      context.fillStyle = state.theme.quiet;
      const text = `${(time * 1e-9 * factor).toFixed(decimals)} ${unit}`;
      const half = context.measureText(text).width / 2;
      context.fillText(text, Math.min(Math.max(x, this.gutter + half), this.width - half), 9);
    }
  }

  lanes(ratio) {
    const { context, raster, state } = this;
    const width = Math.round(this.plotWidth * ratio);
    const { rows } = state.layout;
    if (raster.width !== width || raster.height !== rows.length) {
      [raster.width, raster.height] = [width, rows.length];
      this.image = raster.getContext("2d").createImageData(width, rows.length);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    rows.forEach(({ lane }, row) => {
      const { op } = lane;
      const { colour, faded } = state.palette.runs[lane.run.number];
      const { found } = state;
      const paint = found ? (i) => (found.matches(lane.run, op[i]) ? colour[op[i]] : faded[op[i]]) : (i) => colour[op[i]];
      paintRow(this.pixels, row * width, width, lane, paint, state.theme.lane, state.window.from, state.window.to);
    });
    raster.getContext("2d").putImageData(this.image, 0, 0);
    context.imageSmoothingEnabled = false;
    rows.forEach(({ y, height }, row) => context.drawImage(raster, 0, row, width, 1, this.gutter, y, this.plotWidth, height));
  }

  names() {
    const { context, state } = this;
    context.textBaseline = "middle";
    let group = null, below = 0;
    for (const { y, text } of state.layout.headings) this.name(text, y, font(12, "600"), state.theme.text, "left", this.width);
    for (const { lane, y, height } of state.layout.rows) {
      const room = height >= 14;
      if (lane.group !== group) {
        group = lane.group;
        below = y + height + 8;
        this.name(group.name, y + height / 2, font(11.5, "600"), state.theme.text, "left", state.roomy ? this.gutter - 66 : this.gutter - 8);
        this.name(group.note, below, font(10.5), state.theme.quiet, "left", state.roomy ? this.gutter - 66 : this.gutter - 8);
      }
      if (room && (state.roomy || !lane.first)) this.name(lane.name, y + height / 2, font(11), state.theme.quiet, "right", 60);
    }
  }

  name(text, y, face, colour, side, room) {
    const { context } = this;
    context.font = face;
    context.fillStyle = colour;
    context.textAlign = side;
    context.fillText(clipped(context, text ?? "", room), side === "left" ? 2 : this.gutter - 6, y);
  }

  /** Tall lanes have two lines: the layer and the operation. */
  labels() {
    for (const row of this.state.layout.rows) {
      if (row.height < 12) continue;
      const { lane } = row;
      const { operations } = lane.run;
      const tall = row.height >= 28;
      const half = (place) => (tall ? { ...row, y: row.y + 2 + place * (row.height / 2 - 2), height: row.height / 2 - 2 } : row);
      const named = this.labelSpans(half(lane.computes ? 1 : 0), (op) => operations.short(op));
      if (!lane.computes) {
        if (tall) this.labelSpans(half(1), (op) => operations.word("block", op));
        continue;
      }
      lane.labels ??= labelRuns(lane, this.model.ticks);
      const apart = tall && named.length > 0;
      let taken = apart ? [] : named;
      for (const level of lane.labels) if ((level.longest / this.state.window.length) * this.plotWidth >= 9) taken = this.labelRunsOf(apart ? half(0) : row, level, taken);
    }
  }

  /** Names the spans wide enough; gives back the stretches that now hold text. */
  labelSpans(row, text) {
    const { window } = this.state;
    const { start, end, op } = row.lane;
    const taken = [];
    if ((row.lane.longest / window.length) * this.plotWidth < 26) return taken;
    for (let i = firstEndingAfter(row.lane, window.from); i < start.length && start[i] < window.to; ++i) {
      const left = Math.max(this.x(start[i]), this.gutter), right = Math.min(this.x(end[i]), this.width);
      if (right - left < 26) continue;
      if (this.text(row, left, right, text(op[i]), op[i], true)) taken.push([left, right]);
    }
    return taken;
  }

  labelRunsOf(row, { runs, text, striped }, taken) {
    const { window } = this.state;
    const mine = [];
    const shortest = (9 / this.plotWidth) * window.length;
    for (const run of runs) {
      const start = run[0], end = run[1];
      if (end - start < shortest || end <= window.from || start >= window.to) continue; // most of them
      const [, , first, busy] = run;
      if (busy < 0.3 * (end - start)) continue;
      const left = Math.max(this.x(start), this.gutter), right = Math.min(this.x(end), this.width);
      if (right - left < 9 || taken.some(([a, b]) => a < right && b > left)) continue;
      const op = row.lane.op[first];
      if (this.text(row, left, right, text(op), op, false, striped ? "stripes" : busy < 0.98 * (end - start) ? "pauses" : "")) mine.push([left, right]);
    }
    return [...taken, ...mine];
  }

  text({ lane, y, height }, left, right, words, op, may_clip, over = "") {
    const { context, state } = this;
    if (!words) return false;
    context.font = font(may_clip ? 10.5 : right - left < 18 ? 8.5 : 10.5);
    const room = right - left - (may_clip ? 3 : 1);
    const shown = may_clip ? clipped(context, words, room) : widthOf(context, words) <= room ? words : "";
    if (!shown || (may_clip && shown.length < Math.min(words.length, 6))) return false;
    context.textAlign = "center";
    context.textBaseline = "middle";
    const faded = state.found && !state.found.matches(lane.run, op);
    const { dark_text, colour } = state.palette.runs[lane.run.number];
    context.fillStyle = faded ? state.theme.quiet : dark_text[op] && over !== "stripes" ? "#10151c" : "#ffffff";
    if (over && !faded) { // an outline, so that what lies behind does not show through
      context.strokeStyle = over === "stripes" ? page_colours.of("backward") : cssOf(colour[op]);
      context.lineWidth = 3;
      context.lineJoin = "round";
      context.strokeText(shown, (left + right) / 2, y + height / 2 + 0.5);
    }
    context.fillText(shown, (left + right) / 2, y + height / 2 + 0.5);
    return true;
  }

  /** A bar over the two passes of an overlapped pair. */
  pairs() {
    const { context, state } = this;
    if (this.model.ticks) return; // of a schedule by itself: one span each
    for (const { lane, y } of state.layout.rows) {
      if (!lane.computes) continue;
      for (const [start, end] of pairsOf(lane)) {
        const left = this.x(start), right = this.x(end);
        if (right <= this.gutter || left >= this.width || right - left < 3) continue;
        context.fillStyle = cssOf(state.theme.lane);
        context.fillRect(left, y, right - left, 4);
        context.fillStyle = page_colours.of("overlapped pair");
        context.fillRect(left, y, right - left - 1, 3);
      }
    }
  }

  box([lane, index]) {
    const row = this.state.layout.row_of.get(lane);
    const left = this.x(lane.start[index]);
    return { left, right: Math.max(this.x(lane.end[index]), left + 1), y: row.y, height: row.height };
  }

  /** Between two times that are summed up. */
  range() {
    const { context, state } = this;
    const [left, right] = state.range.map((time) => this.x(time));
    context.fillStyle = state.theme.accent;
    context.globalAlpha = 0.14;
    context.fillRect(left, 0, Math.max(1, right - left), this.height);
    context.globalAlpha = 1;
    for (const edge of [left, right]) context.fillRect(edge, 0, 1, this.height);
  }

  outline(span, width) {
    const { left, right, y, height } = this.box(span);
    this.context.strokeStyle = this.state.theme.text;
    this.context.lineWidth = width;
    this.context.strokeRect(left - 0.5, y - 0.5, right - left + 1, height + 1);
  }

  arrow(from, to, colour, dashed) {
    const { context } = this;
    const a = this.box(from), b = this.box(to);
    const x0 = a.right, y0 = a.y + a.height / 2, x1 = b.left, y1 = b.y + b.height / 2;
    const bend = Math.min(40, Math.abs(x1 - x0) / 2 + 8);
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = 1.4;
    context.setLineDash(dashed ? [4, 3] : []);
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    context.stroke();
    context.setLineDash([]);
    context.beginPath();
    context.moveTo(x1 + 1, y1);
    context.lineTo(x1 - 5, y1 - 3.5);
    context.lineTo(x1 - 5, y1 + 3.5);
    context.fill();
  }

  selection() {
    const { selected, theme } = this.state;
    const [lane, index] = selected;
    const { group, run } = lane;
    const op = lane.op[index];
    const because = becauseOf(lane, index).op;
    for (const before of run.operations.before(op)) {
      const place = this.model.find(group, before);
      if (place) this.arrow(place, selected, before === because ? theme.accent : theme.quiet, before !== because);
    }
    for (const after of run.operations.after(op)) {
      const place = this.model.find(group, after);
      if (place) this.arrow(selected, place, theme.quiet, true);
    }
    for (const other of group.lanes) {
      if (other !== lane) continue;
      this.outline(selected, 2);
    }
  }

  /** Spans of the chain that sets the step time, underlined, joined where it changes lanes. */
  criticalPath() {
    const { context, state } = this;
    context.strokeStyle = state.theme.critical;
    context.lineWidth = 2;
    for (const run of this.model.runs) {
      let last = null;
      const drawn = new Map(); // until when, by lane
      context.beginPath();
      const { window } = state;
      const pixel = window.length / this.plotWidth;
      for (const [lane, index] of run.path ?? []) {
        if (lane.end[index] < window.from || lane.start[index] > window.to) continue;
        if (last?.group === lane.group && lane.end[index] - drawn.get(lane) < pixel) continue; // nothing new to see
        drawn.set(lane, lane.end[index]);
        const { left, right, y, height } = this.box([lane, index]);
        const line = y + height - 1;
        // Joins within a rank would fill the screen where spans are thin.
        const joined = last && last.line !== line && (last.group !== lane.group || Math.min(last.wide, right - left) >= 4);
        if (joined) context.moveTo(last.right, last.line);
        else context.moveTo(left, line);
        context.lineTo(left, line);
        context.lineTo(right, line);
        last = { right, line, group: lane.group, wide: right - left };
      }
      context.stroke();
    }
  }
}

const cssOf = (colour) => `rgb(${colour & 255} ${(colour >>> 8) & 255} ${(colour >>> 16) & 255})`;

const widths = new Map();

/** Measuring text takes long, and the same few texts come again in every frame. */
function widthOf(context, words) {
  const key = `${context.font}|${words}`;
  if (!widths.has(key)) widths.set(key, context.measureText(words).width);
  return widths.get(key);
}

/** The words, or as much of them as there is room for. */
function clipped(context, words, room) {
  const wide = widthOf(context, words);
  if (wide <= room) return words;
  const count = Math.floor((words.length * room) / wide) - 1;
  return count >= 2 ? `${words.slice(0, count)}…` : "";
}
