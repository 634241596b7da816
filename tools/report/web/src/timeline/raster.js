// A lane as one row of pixels: the cost is bounded by what the screen can show, not by the number of spans.
import { firstEndingAfter } from "./model.js";

function mixed(background, paint, share) {
  const channel = (shift) => {
    const low = (background >>> shift) & 255;
    return (low + share * (((paint >>> shift) & 255) - low)) & 255;
  };
  return (0xff000000 | (channel(16) << 16) | (channel(8) << 8) | channel(0)) >>> 0;
}

/**
 * Paints the spans of a lane between two times into pixels[offset, offset + width). `paint` gives the colour of a
 * span by its index. Spans thinner than a pixel and a half share their column: the longest gives the colour, what
 * all of them cover its strength.
 */
export function paintRow(pixels, offset, width, lane, paint, background, from, to) {
  const scale = width / (to - from);
  const { start, end } = lane;
  pixels.fill(background, offset, offset + width);
  let column = -1, covered = 0, longest = 0, colour = 0;
  const flush = () => {
    if (column >= 0 && column < width) pixels[offset + column] = mixed(background, colour, Math.min(1, 0.3 + covered));
    column = -1;
  };
  for (let i = firstEndingAfter(lane, from); i < start.length && start[i] < to; ++i) {
    const left = (start[i] - from) * scale, right = (end[i] - from) * scale;
    const wide = right - left;
    if (wide < 1.5) {
      const at = Math.max(0, Math.trunc(left));
      if (at !== column) {
        flush();
        [column, covered, longest] = [at, 0, -1];
      }
      covered += wide;
      if (wide > longest) [longest, colour] = [wide, paint(i)];
      continue;
    }
    flush();
    const x0 = Math.max(0, Math.round(left));
    const x1 = Math.min(width, Math.round(right));
    const separator = wide >= 4 && x1 - x0 > 1 && right <= width ? 1 : 0; // neighbours of one colour would melt together
    pixels.fill(paint(i), offset + x0, offset + x1 - separator);
  }
  flush();
}
