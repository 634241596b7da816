// Text as it is, such as a scenario file.
import { element } from "../dom.js";

export function text({ text: content }) {
  return element("pre", { tabindex: "0" }, content);
}
