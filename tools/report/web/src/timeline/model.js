// Runs as lanes of spans that do not overlap, in order of time (tools/report/timeline_data.cpp writes them).

import { signed } from "../data.js";
import { format, timesApart } from "../format.js";

function laneOf(run, group, data, place) {
  const count = data.gap.length;
  const lane = {
    run, group, name: data.name, computes: data.computes, first: place === 0, longest: 0,
    start: new Float64Array(count), end: new Float64Array(count), op: new Uint32Array(count), told: data,
  };
  // Times come as those of the first copy of the period that repeats.
  for (let i = 0, time = 0, copy = 0, op = 0, last = 0; i < count; ++i) {
    const step = signed(data.copy[i]);
    const later = Math.round(run.period * (copy += step));
    const start = (time += signed(data.gap[i])) + later;
    const touches = step !== 0 && Math.abs(start - last) <= 1; // rounding may part two copies
    lane.start[i] = touches ? last : Math.max(start, last);
    lane.end[i] = last = Math.max(lane.start[i], (time += data.length[i]) + later);
    lane.op[i] = op += signed(data.op[i]);
    lane.longest = Math.max(lane.longest, data.length[i]);
  }
  return lane;
}

/** Why a span did not start earlier: how (0: nothing is known), the operation that it waited for or -1, and its rank or -1. */
export function becauseOf(lane, index) {
  const { because, because_op, because_rank } = lane.told;
  return { how: because[index], op: because[index] ? lane.op[index] - signed(because_op[index]) : -1, rank: because_rank[index] - 1 };
}

/** What all operations of a run say about themselves, by number. */
class Operations {
  constructor({ ops, words, flops }) {
    this.data = ops;
    this.words = words;
    this.flops_list = flops;
  }
  word(key, op) { return this.words[this.data[key][op]]; }
  short(op) { return this.word("name", op); }
  name(op) { return `${this.word("block", op)} | ${this.word("name", op)}`; }
  pass(op) { return this.word("pass", op); }
  flops(op) { return this.flops_list[this.data.flops[op]]; }
  microbatch(op) { return this.data.microbatch[op]; }
  computes(op) { return this.data.axes[op] === 0; }
  /** The microbatches of an overlapped pair: "24+0", forward and backward. */
  halves(op) {
    if (!this.pairs) {
      this.pairs = [];
      this.data.pair.forEach((pair, other) => { if (pair > 0) (this.pairs[pair] ??= {})[this.pass(other)] = this.data.microbatch[other]; });
    }
    const { forward, backward } = this.pairs[this.data.pair[op]];
    return `${forward}+${backward}`;
  }
  *before(op) {
    if (!this.first_before) {
      const { befores } = this.data;
      this.first_before = new Uint32Array(befores.length + 1);
      befores.forEach((count, i) => { this.first_before[i + 1] = this.first_before[i] + count; });
    }
    for (let i = this.first_before[op], other = op; i < this.first_before[op + 1]; ++i) yield (other -= signed(this.data.before[i]));
  }
  after(op) {
    if (!this.followers) {
      this.followers = new Map();
      for (let later = 0; later < this.data.name.length; ++later) {
        for (const before of this.before(later)) this.followers.set(before, [...(this.followers.get(before) ?? []), later]);
      }
    }
    return this.followers.get(op) ?? [];
  }
}

export class Model {
  /** `ticks`: how many make up a unit of time; none: times are nanoseconds. */
  constructor(runs, ticks) {
    this.ticks = ticks;
    this.runs = runs.map((data, number) => {
      const run = { number, name: data.name, end: data.end_ns, operations: new Operations(data), period: data.period_ns, groups: [], critical: data.critical };
      for (const group_data of data.groups) {
        const group = { run, name: group_data.name, note: group_data.note, number: run.groups.length };
        group.lanes = group_data.lanes.map((lane, place) => laneOf(run, group, lane, place));
        run.groups.push(group);
      }
      return run;
    });
    this.lanes = this.runs.flatMap((run) => run.groups.flatMap((group) => group.lanes));
    this.end = Math.max(...this.runs.map((run) => run.end));
    this.spans = this.lanes.reduce((sum, lane) => sum + lane.start.length, 0);
  }

  time(value) { return this.ticks ? String(Number((value / this.ticks).toPrecision(6))) : format(value, "ns"); }

  /** Of a stretch: both ends, told apart. */
  times(from, to) { return this.ticks ? [this.time(from), this.time(to)] : timesApart(from * 1e-9, to * 1e-9); }

  /** The span of an operation in a group: [lane, index], the lane of a compute first; undefined if it is not there. */
  find(group, op) {
    group.places ??= placesOf(group);
    const place = group.places.get(op);
    return place === undefined ? undefined : [group.lanes[place % group.lanes.length], Math.floor(place / group.lanes.length)];
  }
}

/** By operation: index * lanes + lane, one number, since there are hundreds of thousands. */
function placesOf(group) {
  const places = new Map();
  group.lanes.forEach((lane, number) => lane.op.forEach((op, index) => places.has(op) || places.set(op, index * group.lanes.length + number)));
  return places;
}

/** Index of the first span of a lane that ends after a time. */
export function firstEndingAfter(lane, time) {
  let low = 0, high = lane.end.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.end[middle] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Index of the span of a lane at a time, or the nearest within `slack`; -1 if there is none. */
export function spanAt(lane, time, slack) {
  const index = firstEndingAfter(lane, time);
  const gap_before = index > 0 ? time - lane.end[index - 1] : Infinity;
  const gap_after = index < lane.start.length ? Math.max(0, lane.start[index] - time) : Infinity;
  if (Math.min(gap_before, gap_after) > slack) return -1;
  return gap_after <= gap_before ? index : index - 1;
}

/** Runs of neighbouring spans with one key: [start, end, index of the first, time that the spans take]. */
export function runsOf(lane, keyOf) {
  const runs = [];
  let key = null;
  for (let i = 0; i < lane.start.length; ++i) {
    const mine = keyOf(lane.op[i]);
    const last = runs[runs.length - 1];
    const length = lane.end[i] - lane.start[i];
    if (last && mine === key) [last[1], last[3]] = [lane.end[i], last[3] + length];
    else runs.push([lane.start[i], lane.end[i], i, length]);
    key = mine;
  }
  return runs;
}
