// Text as it is, such as a scenario file.
import { element } from "../dom.js";

export function text({ text: content, summary }) {
  const block = element("pre", { tabindex: "0" }, content);
  return summary ? element("details", {}, element("summary", {}, summary), block) : block;
}
