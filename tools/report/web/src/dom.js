// Elements from values. Text only ever becomes a text node: what a user wrote cannot turn into markup.
const svg_tags = new Set(["svg", "path", "rect", "line", "g", "text", "title"]);

/** element("button", {class: "small", onclick: f, "aria-label": "…"}, "text", another) */
export function element(tag, attributes = {}, ...children) {
  const node = svg_tags.has(tag) && tag !== "title" ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(node.style, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  append(node, children);
  return node;
}

export function swatch(colour) {
  return element("span", { class: "swatch", style: { background: colour } });
}

/** Replaces what a node holds. */
export function fill(node, ...children) {
  node.replaceChildren();
  append(node, children);
  return node;
}

function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}
