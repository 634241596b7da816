// Headline numbers; each is a <data> element that also holds the exact value.
import { element } from "../dom.js";
import { format } from "../format.js";

export function figures({ figures: list, verdict, remarks = [] }) {
  return element("div", {},
    verdict && element("p", { class: "verdict" }, verdict),
    remarks.flatMap((remark) => remark.split("\n")).map((line) => element("p", { class: line.startsWith(" ") ? "remark more" : "remark" }, line)),
    element("div", { class: "figures" }, list.map(({ label, value, unit, note, state }) =>
      element("div", { class: `figure ${state ?? ""}` },
        element("div", { class: "label" }, label),
        element("data", { value: value ?? "" }, format(value, unit)),
        note && element("div", { class: "small" }, note)))));
}
