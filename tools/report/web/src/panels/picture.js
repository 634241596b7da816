// A drawing that the program made: every text in it is escaped there, and the page's policy runs no script of a drawing.
import { element } from "../dom.js";

export function picture({ title, svg }) {
  const { documentElement: drawing } = new DOMParser().parseFromString(svg, "image/svg+xml");
  drawing.setAttribute("role", "img");
  drawing.setAttribute("aria-label", title);
  return element("div", { class: "scroll", tabindex: "0" }, drawing);
}
