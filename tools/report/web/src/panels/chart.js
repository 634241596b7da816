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

const ruler = document.createElement("canvas").getContext("2d");
function wide(words) {
  ruler.font = "12px system-ui, sans-serif"; // Plot's
  return 14 + ruler.measureText(words).width;
}

/** Room for names left of a chart. */
export const room = (names, most) => Math.min(most, Math.max(...names.map(wide)));
/** Long names differ at the end as often as at the start: the middle is left out. */
export function shortened(name, most) {
  if (wide(name) <= most) return name;
  let kept = Math.floor((name.length * (most - 14)) / (wide(name) - 14));
  const cut = () => `${name.slice(0, Math.ceil(kept / 2))}…${name.slice(name.length - Math.floor(kept / 2))}`;
  while (kept > 2 && wide(cut()) > most) --kept;
  return cut();
}
