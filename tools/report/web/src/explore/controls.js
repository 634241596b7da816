// The controls of a scenario: numbers, choices and texts in groups.
import { element } from "../dom.js";

/** Numbers go up and down in powers of two, as degrees and batches do. */
const stepped = (value, up, least) => Math.max(least, up ? value * 2 : Math.floor(value / 2));

function numberField(control, change) {
  const input = element("input", { type: "number", min: control.least, step: 1, value: control.value, id: `control-${control.key}`,
    onchange: () => change(control.key, Number.isInteger(input.valueAsNumber) ? input.valueAsNumber : input.value) });
  const button = (text, up) => element("button", { type: "button", "aria-label": `${control.label} ${up ? "twice" : "half"}`,
    onclick: () => { input.value = stepped(input.valueAsNumber || control.value, up, control.least); change(control.key, input.valueAsNumber); } }, text);
  return element("span", { class: "stepped" }, button("−", false), input, button("+", true));
}

function field(control, change) {
  const id = `control-${control.key}`;
  if (control.kind === "number") return numberField(control, change);
  if (control.kind === "choice") {
    const select = element("select", { id, title: control.value, onchange: () => change(control.key, select.value) },
      control.choices.map((choice) => element("option", { value: choice, selected: choice === control.value }, choice)));
    return select;
  }
  if (control.kind === "text") {
    const input = element("input", { id, value: control.value, onchange: () => change(control.key, input.value) });
    return input;
  }
  return element("output", { id, title: "takes what the other degrees leave of the chips" }, control.value);
}

/** Groups of controls; `change(key, value)` is called for each change, `problems` is a map of keys to sentences. */
export function controls(groups, change, problems = new Map()) {
  return groups.map(({ label, controls: list }) => list.length > 0 && element("fieldset", {}, element("legend", {}, label),
    list.map((control) => element("div", { class: "control" }, element("label", { for: `control-${control.key}` }, control.label), field(control, change),
      problems.has(control.key) && element("p", { class: "problem" }, problems.get(control.key))))));
}
