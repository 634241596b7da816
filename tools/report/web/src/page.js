// What every page has: panels in sections, two colour themes, notices.
import { element } from "./dom.js";
import { bars } from "./panels/bars.js";
import { figures } from "./panels/figures.js";
import { lines } from "./panels/lines.js";
import { network } from "./panels/network.js";
import { picture } from "./panels/picture.js";
import { prose } from "./panels/prose.js";
import { strips } from "./panels/strips.js";
import { sweep } from "./panels/sweep.js";
import { table } from "./panels/table.js";
import { text } from "./panels/text.js";
import { timeline } from "./timeline/view.js";

const panels = { bars, figures, lines, network, picture, prose, strips, sweep, table, text, timeline };

const theme_listeners = [];
/** Calls back now and whenever the colours of the page change. */
const onTheme = (listener) => {
  theme_listeners.push(listener);
  listener();
};
const themeChanged = () => theme_listeners.forEach((listener) => listener());

export function themeButton() {
  const dark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const button = element("button", { class: "theme", onclick: () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    themeChanged();
  } }, "light / dark");
  return button;
}

export function section(panel) {
  const body = panels[panel.panel](panel, onTheme);
  return element("section", { class: `panel ${panel.panel}${panel.wide ? " wide" : ""}`, "aria-label": panel.title },
    panel.title && element("h2", {}, panel.title),
    panel.note && element("p", { class: "note" }, panel.note), body);
}

/** The licences of what others wrote in this page. */
export function thirdParty() {
  return element("details", { class: "third-party" }, element("summary", {}, "Third-party software in this page"),
    element("pre", {}, document.getElementById("notices").textContent));
}

export const painted = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));

/** Forgets the panels that are gone, so that nothing draws them again. */
export function forgetPanels() {
  theme_listeners.length = 0;
}

for (const media of ["(prefers-color-scheme: dark)", "print"]) matchMedia(media).addEventListener("change", themeChanged);
