// One colour for one thing on the whole page; told apart by colour-blind readers and on either background.
const axes = ["#e0782f", "#1fa37a", "#cc79a7", "#d9a70f", "#56b4e9", "#9a7bd1"];
const fixed = {
  computing: "#3f7fc1",
  forward: "#5ba3e6",
  backward: "#23569b",
  "input gradient": "#23569b",
  "weight gradient": "#1fa37a",
  "overlapped pair": "#8b6fb8",
  update: "#7f8792",
  idle: "#b4b9c2",
  compute: "#3f7fc1",
  latency: "#d9a70f",
  contention: "#d14b6f",
  replayed: "#9a7bd1",
  offload: "#1fa37a",
  hidden: "#c3c8d0",
  fill: "#c9ccd3",
  drain: "#a9aeb8",
  dependency: "#8b6fb8",
  imbalance: "#d14b6f",
  transfer: "#d9a70f",
  collective: "#e0782f",
  weights: "#3f7fc1",
  optimizer: "#8b6fb8",
  gradients: "#d14b6f",
  activations: "#1fa37a",
  gathered: "#56b4e9",
  buffers: "#d9a70f",
  workspace: "#e0782f",
  overhead: "#7f8792",
};

/** Colours of names: those with a meaning of their own, the others (mesh axes) in order of appearance. */
export class Colours {
  #seen = [];
  of(name) {
    if (fixed[name]) return fixed[name];
    let place = this.#seen.indexOf(name);
    if (place < 0) place = this.#seen.push(name) - 1;
    return axes[place % axes.length];
  }
}

export const page_colours = new Colours();

/** Distinct hues for numbers (microbatches, blocks), neighbours far apart. */
export function hue(number) {
  return `hsl(${(number * 137.508) % 360} 52% ${number % 2 ? 46 : 56}%)`;
}

/** "#rrggbb" or any CSS colour as 0xAABBGGRR, as ImageData stores it on little-endian machines. */
export function packed(colour) {
  const context = (packed.context ??= new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true }));
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  const [r, g, b] = context.getImageData(0, 0, 1, 1).data;
  return (0xff000000 | (b << 16) | (g << 8) | r) >>> 0;
}
