// The part of the time axis on the screen.
export class TimeWindow {
  constructor(end) {
    this.end = end;
    this.from = 0;
    this.to = end;
  }
  get length() { return this.to - this.from; }
  get whole() { return this.from === 0 && this.to === this.end; }
  set(from, to) {
    const length = Math.min(Math.max(to - from, 20), this.end); // at least 20 ns
    this.from = Math.min(Math.max(from, 0), this.end - length);
    this.to = this.from + length;
    // Zooming in and out again rounds: what lacks less than a nanosecond is whole.
    if (this.from < 1 && this.end - this.to < 1) [this.from, this.to] = [0, this.end];
  }
  /** The time `at` stays where it is. */
  zoom(factor, at = (this.from + this.to) / 2) {
    const length = Math.min(this.length * factor, this.end);
    const from = at - (at - this.from) * (length / this.length);
    this.set(from, from + length);
  }
  /** Two times stand at these shares of the window, as far as it goes. */
  hold(time_a, share_a, time_b, share_b) {
    const apart = share_b - share_a;
    if (Math.abs(apart) < 0.01 || (time_b - time_a) * apart <= 0) return;
    const length = (time_b - time_a) / apart;
    this.set(time_a - share_a * length, time_a + (1 - share_a) * length);
  }
  /** By a share of the window. */
  pan(share) { this.set(this.from + share * this.length, this.to + share * this.length); }
  all() { this.set(0, this.end); }
  /** Makes [start, end] easy to see. */
  show(start, end) {
    const margin = Math.max((end - start) * 3, this.length * 0.02);
    if (start < this.from || end > this.to || end - start > this.length || end - start < this.length / 40) this.set(start - margin, end + margin);
  }
}

/** Round times for ticks, about `wanted` of them. */
export function ticks(from, to, wanted) {
  const raw = (to - from) / wanted;
  const decade = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * decade).find((candidate) => candidate >= raw);
  const result = [];
  for (let i = Math.ceil(from / step); i * step <= to; ++i) result.push(i * step);
  return result;
}
