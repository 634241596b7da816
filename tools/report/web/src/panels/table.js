// A table; columns with a unit hold numbers. A click on a column's name orders the rows by it.
import { element } from "../dom.js";
import { format } from "../format.js";

/** Of numbers; of words that stay on a line; of text that may break anywhere, as long names must. */
const kind = ({ name, unit }, i, rows) => (unit ? "number" : Math.max(...rows.map((row) => String(row[i] ?? "").length), name.length) <= 18 ? "short" : "long");

const before = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a ?? "").localeCompare(String(b ?? ""), "en", { numeric: true }));

export function table({ columns, rows }) {
  const kinds = columns.map((column, i) => kind(column, i, rows));
  const cell = (value, { unit }) => (typeof value === "number" ? element("data", { value }, format(value, unit)) : value ?? "–");
  const lines = rows.map((row) => element("tr", {}, row.map((value, i) => element("td", { class: kinds[i] }, cell(value, columns[i])))));
  const body = element("tbody", {}, lines);
  const heads = columns.map(({ name, unit }, i) => {
    if (rows.length < 3) return element("th", { scope: "col", class: kinds[i] }, name);
    const head = element("th", { scope: "col", class: kinds[i] }, element("button", { class: "order", onclick: () => order(head, i, Boolean(unit)) }, name));
    return head;
  });
  /** Numbers begin with the largest; a second click turns the order round. */
  function order(head, i, falls) {
    const was = head.getAttribute("aria-sort");
    const falling = was ? was === "ascending" : falls;
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    const places = rows.map((_, place) => place).sort((a, b) => (falling ? before(rows[b][i], rows[a][i]) : before(rows[a][i], rows[b][i])) || a - b);
    body.replaceChildren(...places.map((place) => lines[place]));
  }
  return element("div", { class: "scroll" }, element("table", {}, element("thead", {}, element("tr", {}, heads)), body));
}
