// The timeline panel: drawing and details put together, moved by wheel, drag, buttons, keys and search.
import { element, fill, swatch } from "../dom.js";
import { format } from "../format.js";
import { packed } from "../colours.js";
import { details, facts } from "./details.js";
import { Drawing, axis_height, layOut } from "./drawing.js";
import { Model, spanAt } from "./model.js";
import { modes, palette } from "./palette.js";
import { openInPerfetto, save, svgOf } from "./save.js";
import { search } from "./search.js";
import { totals } from "./totals.js";
import { TimeWindow } from "./window.js";

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

class TimelineView {
  constructor(data) {
    this.model = new Model(data.runs, data.ticks);
    this.has_path = this.model.runs.some((run) => run.critical);
    this.window = new TimeWindow(this.model.end);
    this.mode = "pass";
    this.roomy = this.model.lanes.length <= 16;
    this.hit = -1;
    this.fingers = new Map(); // on the canvas: id -> x
    this.build();
    this.drawing = new Drawing(this.canvas, this.model);
    this.listen();
    setTimeout(() => { // after the first picture
      for (const run of this.model.runs) run.path = pathOf(this.model, run);
      this.redraw();
    });
  }

  // ---- the elements ----

  build() {
    const button = (text, title, onclick) => element("button", { title, "aria-label": title, onclick }, text);
    this.canvas = element("canvas", {
      class: "timeline", tabindex: "0", role: "application",
      "aria-label": "Timeline. Arrows or w a s d zoom and move, 0 shows all, [ and ] step through a lane, t sums up what is on the screen, Escape clears.",
    });
    this.where = element("output", { class: "where", "aria-live": "polite" });
    this.find = element("input", { type: "search", placeholder: "search: layer 3, AllGather …", "aria-label": "search operations by name" });
    this.found_text = element("output", { class: "found", "aria-live": "polite" });
    this.legend = element("ul", { class: "legend" });
    this.drawer_content = element("div", {});
    this.drawer = element("aside", { class: "details", "aria-live": "polite", hidden: true }, element("button", { class: "close", "aria-label": "close (Escape)", onclick: () => this.select(null) }, "×"), this.drawer_content);
    const hint = element("p", { class: "quiet hint" }, "Click a span to see its shapes, bytes, dependencies, and why it started when it did. Drag along the times above the lanes, or with Shift, for totals by operation.");
    this.tip = element("div", { class: "tip", role: "tooltip", hidden: true });
    this.frame = element("div", { class: "timeline-frame" }, this.canvas);
    const mode = element("select", { "aria-label": "colours", onchange: () => { this.mode = mode.value; this.recolour(); } },
      Object.entries(modes).map(([value, text]) => element("option", { value }, `colour by ${text}`)));
    const check = (text, checked, change) => {
      const box = element("input", { type: "checkbox", checked, onchange: () => change(box.checked) });
      return element("label", {}, box, ` ${text}`);
    };
    this.root = element("div", { class: "timeline-panel" },
      element("div", { class: "controls" },
        button("+", "zoom in (w)", () => this.move(() => this.window.zoom(0.5))),
        button("−", "zoom out (s)", () => this.move(() => this.window.zoom(2))),
        button("◀", "earlier (a)", () => this.move(() => this.window.pan(-0.25))),
        button("▶", "later (d)", () => this.move(() => this.window.pan(0.25))),
        button("all", "show all (0)", () => this.move(() => this.window.all())),
        this.where, this.find,
        button("↑", "previous hit", () => this.step(-1)), button("↓", "next hit", () => this.step(1)),
        this.found_text, mode,
        check("tall lanes", this.roomy, (on) => { this.roomy = on; this.relay(); }),
        button("totals", "totals by operation of what is on the screen (t)", () => this.measure(this.window.from, this.window.to)),
        button("SVG", "save what is on the screen as SVG", () => this.saveSvg()),
        this.model.ticks ? null : button("Perfetto", "open in Perfetto, ui.perfetto.dev; the trace stays in this browser", () => openInPerfetto(this.model, document.title)),
        this.has_path ? check("critical path", true, (on) => { this.critical = on; this.redraw(); }) : null),
      this.legend, this.frame, hint, this.drawer, this.tip);
    this.critical = this.has_path;
  }

  // ---- drawing ----

  /** Reads the theme's colours; after a change of theme. */
  recolour() {
    this.theme = { text: css("--text"), quiet: css("--quiet"), line: css("--line"), accent: css("--accent"), critical: css("--critical"), lane: packed(css("--lane")) };
    this.palette = palette(this.model, this.mode, this.theme.lane);
    fill(this.legend, this.palette.legend.map(([name, colour]) => element("li", {}, swatch(colour), name)));
    this.drawNow(); // at once: printing does not wait for a frame
  }

  relay() {
    this.layout = layOut(this.model, this.roomy);
    this.canvas.style.height = `${this.layout.height}px`;
    this.redraw();
  }

  redraw() {
    this.pending ??= requestAnimationFrame(() => {
      this.pending = undefined;
      this.drawNow();
    });
  }

  drawNow() {
    if (!this.palette || this.canvas.clientWidth === 0) return;
    const { window, layout, palette, theme, found, selected, hovered, critical, roomy, range } = this;
    this.drawing.draw({ window, layout, palette, theme, found, selected, hovered, critical, roomy, range });
    const text = window.whole ? `all ${this.model.time(window.end)}` : this.model.times(window.from, window.to).join(" – ");
    if (this.where.textContent !== text) this.where.textContent = text;
  }

  move(change) {
    change();
    this.hide();
    this.redraw();
  }

  // ---- choosing ----

  select(span, show = true) {
    this.selected = span;
    this.range = null;
    if (span && show) this.window.show(span[0].start[span[1]], span[0].end[span[1]]);
    if (span) this.tell(details(this.model, span, (other) => this.select(other)), span[0], span[0].start[span[1]], span[0].end[span[1]]);
    else this.drawer.hidden = true;
    this.redraw();
  }

  /** Totals by operation between two times, which stay marked. */
  measure(from, to) {
    this.selected = null;
    this.range = [from, to];
    this.tell(totals(this.model, from, to), null, from, to);
    this.redraw();
  }

  /** Fills the drawer and lays it beside what it is about, a lane's span or all lanes': on the screen, on the side with more room. */
  tell(content, lane, from, to) {
    const { drawer, drawing, frame } = this;
    fill(this.drawer_content, content);
    drawer.hidden = false;
    drawer.scrollTop = 0;
    const row = lane && this.layout.row_of.get(lane);
    if (row && (row.y < frame.scrollTop || row.y + row.height > frame.scrollTop + frame.clientHeight)) frame.scrollTop = row.y - frame.clientHeight / 2;
    const lanes = this.canvas.getBoundingClientRect(), panel = this.root.getBoundingClientRect();
    const y = lanes.top + (row ? row.y : frame.scrollTop + axis_height);
    if (getComputedStyle(drawer).position === "sticky") { // a phone: below, and the row above it
      const hidden = y + (row?.height ?? 0) + 12 - (innerHeight - drawer.offsetHeight);
      if (row && hidden > 0) scrollBy(0, hidden);
      return;
    }
    const inside = (time) => Math.min(Math.max(drawing.x(time), drawing.gutter), drawing.width);
    const left = inside(from) - drawing.gutter > drawing.width - inside(to);
    drawer.style.left = left ? "0" : "auto";
    drawer.style.right = left ? "auto" : "0";
    drawer.style.top = `${Math.max(8, Math.min(y - 8, innerHeight - drawer.offsetHeight - 8)) - panel.top}px`;
  }

  saveSvg() {
    const { layout, palette, window, theme } = this;
    save("timeline.svg", "image/svg+xml", svgOf(this.model, { layout, palette, window, theme, legend: palette.legend }, 1400));
  }

  look() {
    this.found = search(this.model, this.find.value);
    this.hit = -1;
    this.found_text.textContent = this.found ? `${format(this.found.hits.length, "count")} found` : "";
    this.redraw();
  }

  step(by) {
    const hits = this.found?.hits;
    if (!hits?.length) return;
    this.hit = this.hit < 0 ? (by > 0 ? 0 : hits.length - 1) : (this.hit + by + hits.length) % hits.length;
    this.found_text.textContent = `${format(this.hit + 1, "count")} of ${format(hits.length, "count")}`;
    this.select(hits[this.hit]);
  }

  stepInLane(by) {
    const [lane, index] = this.selected ?? [this.model.lanes[0], -by];
    const next = index + by;
    if (next >= 0 && next < lane.start.length) this.select([lane, next]);
  }

  spanUnder(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    const row = this.drawing.rowAt(y);
    if (!row || x < this.drawing.gutter) return null;
    const index = spanAt(row.lane, this.drawing.timeAt(x), (3 * this.window.length) / this.drawing.plotWidth);
    return index < 0 ? null : [row.lane, index];
  }

  hover(event) {
    const span = this.spanUnder(event);
    this.hovered = span;
    this.redraw();
    if (!span) return this.hide();
    const [lane, index] = span;
    fill(this.tip, element("b", {}, lane.run.operations.name(lane.op[index])), facts(this.model, span).slice(0, 6).map(([label, text]) => element("div", {}, `${label}: ${text}`)));
    this.tip.hidden = false;
    const wide = this.tip.offsetWidth, high = this.tip.offsetHeight;
    this.tip.style.left = `${Math.min(event.clientX + 14, innerWidth - wide - 8)}px`;
    this.tip.style.top = `${event.clientY + 18 + high > innerHeight ? event.clientY - high - 12 : event.clientY + 18}px`;
  }

  hide() {
    this.tip.hidden = true;
    this.hovered = null;
  }

  // ---- what moves it ----

  listen() {
    const { canvas } = this;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
      this.move(() => {
        if (Math.abs(sideways) > Math.abs(event.deltaY) || event.shiftKey) this.window.pan(sideways / 1200);
        else this.window.zoom(Math.exp(event.deltaY * 0.0018), this.drawing.timeAt(event.clientX - canvas.getBoundingClientRect().left));
      });
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => (this.drag ? this.pull(event) : this.hover(event)));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointercancel", (event) => this.letGo(event)); // the finger scrolls the page
    canvas.addEventListener("pointerleave", () => { this.hide(); this.redraw(); });
    canvas.addEventListener("dblclick", (event) => {
      const span = this.spanUnder(event);
      if (span) this.move(() => this.window.set(span[0].start[span[1]], span[0].end[span[1]]));
    });
    canvas.addEventListener("keydown", (event) => this.key(event));
    this.find.addEventListener("input", () => this.look());
    this.find.addEventListener("keydown", (event) => event.key === "Enter" && this.step(event.shiftKey ? -1 : 1));
    new ResizeObserver(() => this.redraw()).observe(canvas);
  }

  press(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.fingers.set(event.pointerId, event.clientX);
    this.hide();
    if (this.fingers.size === 2) return this.pinch();
    const box = this.canvas.getBoundingClientRect();
    const measures = event.shiftKey || (event.clientY - box.top < axis_height && event.clientX - box.left > this.drawing.gutter);
    this.drag = { measures, at: this.drawing.timeAt(event.clientX - box.left), x: event.clientX, y: event.clientY, from: this.window.from, to: this.window.to, top: this.frame.scrollTop, moved: false };
  }

  /** Two fingers: the times under them stay there. */
  pinch() {
    const left = this.canvas.getBoundingClientRect().left;
    this.drag = { held: [...this.fingers].map(([id, x]) => [id, this.drawing.timeAt(x - left)]), moved: true };
  }

  pull(event) {
    const { drag } = this;
    if (this.fingers.has(event.pointerId)) this.fingers.set(event.pointerId, event.clientX);
    if (drag.held) {
      const left = this.canvas.getBoundingClientRect().left;
      const [[a, timeA], [b, timeB]] = drag.held;
      return this.move(() => this.window.hold(timeA, this.drawing.shareAt(this.fingers.get(a) - left), timeB, this.drawing.shareAt(this.fingers.get(b) - left)));
    }
    const right = event.clientX - drag.x, down = event.clientY - drag.y;
    if (!drag.moved && Math.hypot(right, down) < 4) return;
    drag.moved = true;
    if (drag.measures) {
      const here = this.drawing.timeAt(event.clientX - this.canvas.getBoundingClientRect().left);
      const inside = (time) => Math.min(Math.max(time, 0), this.window.end);
      this.range = [inside(Math.min(drag.at, here)), inside(Math.max(drag.at, here))];
      return this.redraw();
    }
    const share = -right / this.drawing.plotWidth;
    const length = drag.to - drag.from;
    this.frame.scrollTop = drag.top - down;
    this.move(() => this.window.set(drag.from + share * length, drag.to + share * length));
  }

  letGo(event) {
    this.fingers.delete(event.pointerId);
    this.drag = null;
  }

  release(event) {
    const { moved, measures } = this.drag ?? { moved: true };
    this.letGo(event);
    if (moved && measures && this.range[1] > this.range[0]) return this.measure(...this.range);
    if (!moved) this.select(this.spanUnder(event), false);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = {
      w: () => this.window.zoom(0.7), ArrowUp: () => this.window.zoom(0.7), "+": () => this.window.zoom(0.7),
      s: () => this.window.zoom(1 / 0.7), ArrowDown: () => this.window.zoom(1 / 0.7), "-": () => this.window.zoom(1 / 0.7),
      a: () => this.window.pan(-0.15), ArrowLeft: () => this.window.pan(-0.15),
      d: () => this.window.pan(0.15), ArrowRight: () => this.window.pan(0.15),
      0: () => this.window.all(), Home: () => this.window.all(),
      "[": () => this.stepInLane(-1), "]": () => this.stepInLane(1),
      t: () => this.measure(this.window.from, this.window.to),
      Escape: () => this.select(null),
      "/": () => this.find.focus(),
    };
    const act = moves[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    this.move(act);
  }
}

/** The critical path as spans: [[lane, index]] in order of time; nothing where the data has none. */
function pathOf(model, run) {
  if (!run.critical) return undefined;
  const spans = [...run.critical.op].map((op, i) => model.find(run.groups[run.critical.group[i]], op));
  return spans.filter((span) => span !== undefined);
}

export function timeline(data, onTheme) {
  const view = new TimelineView(data);
  view.relay();
  onTheme(() => view.recolour());
  return view.root;
}
