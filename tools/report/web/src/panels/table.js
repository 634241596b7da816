// A table; columns with a unit hold numbers.
import { element } from "../dom.js";
import { format } from "../format.js";

export function table({ columns, rows }) {
  const cell = (value, { unit }) => (typeof value === "number" ? element("data", { value }, format(value, unit)) : value ?? "–");
  return element("div", { class: "scroll" }, element("table", {},
    element("thead", {}, element("tr", {}, columns.map(({ name, unit }) => element("th", { scope: "col", class: unit ? "number" : "" }, name)))),
    element("tbody", {}, rows.map((row) => element("tr", {}, row.map((value, i) => element("td", { class: columns[i].unit ? "number" : "" }, cell(value, columns[i]))))))));
}
