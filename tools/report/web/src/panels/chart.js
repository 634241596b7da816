// Charts by Observable Plot: drawn for the width that there is, with the numbers as a table below.
import { element } from "../dom.js";
import { table } from "./table.js";

const narrowest = 360;

/** `draw(width)` gives an SVG; it is drawn again when the width changes. */
export function chart(label, draw) {
  const frame = element("div", { class: "chart", role: "img", "aria-label": label });
  let width = 0;
  const redraw = () => {
    if (frame.clientWidth === width || frame.clientWidth === 0) return;
    width = frame.clientWidth;
    frame.replaceChildren(draw(Math.max(width, narrowest))); // below that, as on paper, the picture is scaled
  };
  new ResizeObserver(redraw).observe(frame);
  matchMedia("print").addEventListener("change", redraw); // printing does not wait for an observer
  return frame;
}

export function numbers(columns, rows) {
  return element("details", {}, element("summary", {}, "as numbers"), table({ columns, rows }));
}

/** Room for names left of a chart. */
export const room = (names, most) => Math.min(most, 14 + 6.6 * Math.max(...names.map((name) => name.length)));
export const shortened = (name, most) => (14 + 6.6 * name.length > most ? `${name.slice(0, Math.floor((most - 24) / 6.6))}…` : name);
