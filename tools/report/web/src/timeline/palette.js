// Which colour an operation has, by what the reader wants to tell apart.
import { hue, packed, page_colours } from "../colours.js";

export const modes = { pass: "pass and axis", microbatch: "microbatch", layer: "layer" };

function nameOf(operations, op, mode) {
  if (!operations.computes(op)) return operations.word("axes", op);
  if (mode === "microbatch") return operations.microbatch(op);
  if (mode === "layer") return operations.data.block[op];
  return operations.pass(op);
}

function luminance(colour) {
  return 0.299 * (colour & 255) + 0.587 * ((colour >>> 8) & 255) + 0.114 * ((colour >>> 16) & 255);
}

function faded(colour, background) {
  const channel = (shift) => Math.round(((colour >>> shift) & 255) * 0.18 + ((background >>> shift) & 255) * 0.82);
  return (0xff000000 | (channel(16) << 16) | (channel(8) << 8) | channel(0)) >>> 0;
}

/** Per run: the packed colour and its faded form of every operation; and a legend of [name, CSS colour]. */
export function palette(model, mode, background) {
  const legend = new Map();
  const known = new Map();
  const paint = (name) => {
    if (!known.has(name)) {
      const css = typeof name === "number" ? hue(name) : page_colours.of(name);
      const colour = packed(css);
      known.set(name, { colour, faded: faded(colour, background), css, dark_text: luminance(colour) > 140 });
    }
    return known.get(name);
  };
  const runs = model.runs.map(({ operations }) => {
    const count = operations.data.name.length;
    const result = { colour: new Uint32Array(count), faded: new Uint32Array(count), dark_text: new Uint8Array(count) };
    for (let op = 0; op < count; ++op) {
      const name = nameOf(operations, op, mode);
      const it = paint(name);
      result.colour[op] = it.colour;
      result.faded[op] = it.faded;
      result.dark_text[op] = it.dark_text ? 1 : 0;
      if (typeof name === "string") legend.set(name, it.css);
    }
    return result;
  });
  const paired = !model.ticks && model.runs.some(({ operations }) => operations.data.pair.some((pair) => pair > 0));
  if (paired) legend.set("overlapped pair", page_colours.of("overlapped pair"));
  return { runs, legend: [...legend] };
}
