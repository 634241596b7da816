// One colour for one thing on the whole page and in the drawings of the program, which read the same file; told apart by colour-blind
// readers and on either background.
import palette from "../../../output/elements/colours.json";

/** Colours of names: those with a meaning of their own, the others in order of appearance. */
export class Colours {
  #seen = [];
  of(name) {
    if (palette.named[name]) return palette.named[name];
    let place = this.#seen.indexOf(name);
    if (place < 0) place = this.#seen.push(name) - 1;
    return palette.others[place % palette.others.length];
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
