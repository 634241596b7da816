// A table; columns with a unit hold numbers.
import { element } from "../dom.js";
import { format } from "../format.js";

/** Of numbers; of words that stay on a line; of text that may break anywhere, as long names must. */
const kind = ({ name, unit }, i, rows) => (unit ? "number" : Math.max(...rows.map((row) => String(row[i] ?? "").length), name.length) <= 18 ? "short" : "long");

export function table({ columns, rows }) {
  const kinds = columns.map((column, i) => kind(column, i, rows));
  const cell = (value, { unit }) => (typeof value === "number" ? element("data", { value }, format(value, unit)) : value ?? "–");
  return element("div", { class: "scroll" }, element("table", {},
    element("thead", {}, element("tr", {}, columns.map(({ name }, i) => element("th", { scope: "col", class: kinds[i] }, name)))),
    element("tbody", {}, rows.map((row) => element("tr", {}, row.map((value, i) => element("td", { class: kinds[i] }, cell(value, columns[i]))))))));
}
