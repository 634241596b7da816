// Sentences, in paragraphs.
import { element } from "../dom.js";

export function prose({ paragraphs }) {
  return element("div", {}, paragraphs.map((paragraph) => element("p", {}, paragraph)));
}
