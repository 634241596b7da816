// The explorer: controls of a scenario, and the panels of its step, simulated again at each change.
import { controls } from "./explore/controls.js";
import { ask, takeToken } from "./explore/questions.js";
import { decode } from "./data.js";
import { element, fill } from "./dom.js";
import { format } from "./format.js";
import { forgetPanels, painted, section, themeButton, thirdParty } from "./page.js";

/** What the reader has asked for; it stands behind the # of the address, which can be shared. */
const state = { text: null, changes: {}, pinned: null };
const before = []; // states, for going back
let groups = []; // of controls, as the last good answer gave them
let asking = null; // the question on its way
let wanted = false; // another one shall follow

const page = document.getElementById("page");
const heading = element("h1", {}, "Lockstep");
const subtitle = element("p", { class: "subtitle" });
const status = element("p", { class: "status", role: "status" });
const side = element("form", { class: "side", "aria-label": "Controls", onsubmit: (event) => event.preventDefault() });
const main = element("main", {});
const footer = element("footer", {});

const part = () => ({ text: state.text, changes: state.changes });
const remember = () => before.push(JSON.stringify(state));

function change(key, value) {
  remember();
  state.changes = { ...state.changes, [key]: value };
  simulate();
}

function pin() {
  remember();
  state.pinned = structuredClone(part());
  simulate();
}

function unpin() {
  remember();
  state.pinned = null;
  simulate();
}

function back() {
  if (before.length === 0) return;
  Object.assign(state, JSON.parse(before.pop()));
  simulate();
}

function startAgain() {
  remember();
  Object.assign(state, { text: null, changes: {}, pinned: null });
  simulate();
}

async function copy(text, button) {
  await navigator.clipboard.writeText(text);
  const label = button.textContent;
  button.textContent = "copied";
  setTimeout(() => { button.textContent = label; }, 1200);
}

const copyButton = (label, text) => {
  const button = element("button", { type: "button", onclick: () => copy(text(), button) }, label);
  return button;
};

/** The fastest split of the scenario that a short search finds. */
async function fastestPlan() {
  fill(status, "searching for the fastest plan, at most 10 s");
  status.className = "status busy";
  try {
    const answer = await ask({ ...part(), plan: true });
    if (answer.failure) throw new Error(answer.failure);
    if (answer.problems) return showProblems(answer);
    remember();
    Object.assign(state, { text: answer.plan, changes: {} });
    simulate();
  } catch (error) {
    fill(status, error.message);
    status.className = "status problem";
  }
}

/** The scenario as text, which may be edited, and what gives it again elsewhere. */
function textPanel({ text, command = "lockstep run -" }) {
  const area = element("textarea", { rows: Math.min(24, text.split("\n").length + 1), spellcheck: false, "aria-label": "scenario" });
  area.value = text;
  const apply = () => { remember(); state.text = area.value; state.changes = {}; simulate(); };
  return element("section", { class: "panel wide", "aria-label": "Scenario" }, element("h2", {}, "Scenario"),
    element("pre", { class: "command" }, command), area,
    element("div", { class: "controls" }, element("button", { type: "button", onclick: apply }, "simulate this text"), copyButton("copy the text", () => area.value),
      copyButton("copy the command", () => command), copyButton("copy a link", () => location.href)));
}

function showControls(problems = new Map()) {
  const focus = document.activeElement?.id;
  fill(side, controls(groups, change, problems),
    element("div", { class: "controls" },
      state.pinned ? element("button", { type: "button", onclick: unpin }, "unpin") : null,
      element("button", { type: "button", onclick: fastestPlan, title: "split this scenario as the fastest plan does" }, "fastest plan"),
      element("button", { type: "button", onclick: pin, title: "keep this step beside those that follow" }, "pin this step"),
      element("button", { type: "button", onclick: back, disabled: before.length === 0 }, "back"),
      element("button", { type: "button", onclick: startAgain }, "start again")));
  if (focus) document.getElementById(focus)?.focus();
}

async function showStep(answer) {
  const data = await decode(answer.document);
  document.title = `${data.title} – Lockstep`;
  fill(heading, data.title);
  fill(subtitle, data.subtitle);
  forgetPanels();
  const sections = data.panels.map(section);
  fill(main, sections, textPanel(answer));
  fill(footer, data.footer, thirdParty());
  groups = answer.controls;
  showControls();
  const first = data.panels.find(({ panel }) => panel === "figures")?.figures.slice(0, 2) ?? [];
  const told = first.map(({ label, value, unit }) => `${label} ${format(value, unit)}`); // in sight of the controls on a phone
  fill(status, [...told, `simulated in ${Math.max(1, Math.round(1000 * answer.wall_s))} ms`].join(", "));
  status.className = "status";
}

/** Problems stand at the control whose key they name, and above the last step, which stays. */
function showProblems({ problems, text }) {
  if (groups.length === 0) fill(main, textPanel({ text })); // there was no step yet
  const known = new Set(groups.flatMap(({ controls: list }) => list.map(({ key }) => key)));
  const at = new Map();
  const lines = problems.map(({ key, line, what, expected }) => {
    const last = key.split(".").at(-1);
    const sentence = `${what}${expected ? `; expected ${expected}` : ""}`;
    if (known.has(last)) at.set(last, sentence);
    return element("li", {}, `${line > 0 && state.text ? `line ${line}: ` : ""}${key ? `${key}: ` : ""}${sentence}`);
  });
  for (const group of groups) for (const control of group.controls) if (control.key in state.changes) control.value = state.changes[control.key];
  showControls(at);
  fill(status, groups.length > 0 ? "This cannot be simulated; the step below is the last one that could." : "This cannot be simulated.", element("ul", {}, lines));
  status.className = "status problem";
}

/** Asks for the present state; changes made meanwhile are asked for once this is answered. */
async function simulate() {
  const shared = new URLSearchParams();
  if (state.text !== null || state.pinned || Object.keys(state.changes).length > 0) shared.set("state", JSON.stringify(state));
  history.replaceState(null, "", `#${shared}`);
  wanted = true;
  if (asking) return;
  while (wanted) {
    wanted = false;
    status.classList.add("busy");
    asking = ask({ ...part(), pinned: state.pinned });
    try {
      const answer = await asking;
      if (answer.failure) throw new Error(answer.failure);
      if (answer.problems) showProblems(answer);
      else await showStep(answer);
    } catch (error) {
      fill(status, error.message);
      status.className = "status problem";
    } finally {
      asking = null;
    }
  }
  await painted();
  page.dataset.answers = Number(page.dataset.answers ?? 0) + 1;
  page.dataset.ready = "true";
}

/** The state of the address; the starting point if it has none, or one that was cut. */
function readAddress() {
  const map = (value) => (value !== null && typeof value === "object" && !Array.isArray(value) ? value : null);
  const partOf = (value) => ({ text: typeof value?.text === "string" ? value.text : null, changes: map(value?.changes) ?? {} });
  let given = null;
  try {
    given = map(JSON.parse(new URLSearchParams(location.hash.slice(1)).get("state")));
  } catch {
    given = null;
  }
  Object.assign(state, partOf(given), { pinned: map(given?.pinned) && partOf(given.pinned) });
}

takeToken();
readAddress();
addEventListener("hashchange", () => { takeToken(); remember(); readAddress(); simulate(); }); // an address pasted here
document.body.classList.add("explorer");
fill(page, element("header", {}, element("div", {}, heading, subtitle), themeButton()), status, element("div", { class: "explorer" }, side, main), footer);
simulate();
