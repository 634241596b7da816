// Quantities as the program prints them (sim/core/quantity_format.cpp): the page and the terminal say the same.
const up = [["", 1], ["k", 1e3], ["M", 1e6], ["G", 1e9], ["T", 1e12], ["P", 1e15], ["E", 1e18], ["Z", 1e21], ["Y", 1e24]];
const down = [["p", 1e-12], ["n", 1e-9], ["u", 1e-6], ["m", 1e-3], ["", 1]];
const threeDigits = (scaled) => (scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0);
const twoDecimals = () => 2;

function withPrefix(value, unit, steps, decimals) {
  const magnitude = Math.abs(value);
  const limit = 1000 - 0.5 * 10 ** -decimals(999); // what would print as 1000 moves on to the next prefix
  const last = steps.length - 1;
  let chosen = 0;
  while (chosen < last && magnitude >= limit * steps[chosen][1]) ++chosen;
  const [prefix, factor] = steps[chosen];
  return `${value < 0 ? "-" : ""}${(magnitude / factor).toFixed(decimals(magnitude / factor))} ${prefix}${unit}`;
}

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

const by_unit = {
  s: (value) => (value === 0 ? "0.00 s" : withPrefix(value, "s", down, twoDecimals)),
  ns: (value) => by_unit.s(value * 1e-9),
  B: (value) => (Math.abs(value) < 1000 ? `${Math.round(value)} B` : withPrefix(value, "B", up, threeDigits)),
  "B/s": (value) => withPrefix(value, "B/s", up, threeDigits),
  FLOP: (value) => withPrefix(value, "FLOP", up, threeDigits),
  "FLOP/s": (value) => withPrefix(value, "FLOP/s", up, threeDigits),
  share: (value) => `${(100 * value).toFixed(1)} %`,
  count: (value) => whole.format(value),
  "%": (value) => `${value.toFixed(2)} %`,
  ratio: (value) => `${value.toFixed(3)} ×`,
  number: (value) => String(Number(value.toPrecision(4))),
};

/** Text of a value of a unit; text stays as it is, nothing is a dash. */
export function format(value, unit) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  return (by_unit[unit] ?? by_unit.number)(value);
}

const names = { s: 1, ms: 1e-3, us: 1e-6, ns: 1e-9 };

/** Factor and unit that fit a time axis of this length in seconds. */
export function timeUnit(seconds) {
  const unit = Object.keys(names).find((name) => seconds >= names[name]) ?? "ns";
  return { unit, factor: 1 / names[unit] };
}

/** Two times in seconds, in one unit and with the digits that tell a hundredth of what lies between them. */
export function timesApart(from, to) {
  const { unit, factor } = timeUnit(Math.max(Math.abs(from), Math.abs(to)));
  const finest = Math.round(Math.log10(1e9 / factor)); // a nanosecond
  const decimals = to > from ? Math.min(Math.max(Math.ceil(2 - Math.log10((to - from) * factor)), Math.min(2, finest)), finest) : 2;
  return [from, to].map((time) => `${(time * factor).toFixed(decimals)} ${unit}`);
}

/** Factor and unit that fit a scale up to so many bytes. */
export function byteUnit(bytes) {
  const [prefix, size] = up.findLast(([, factor]) => bytes >= factor) ?? up[0];
  return { unit: `${prefix}B`, factor: 1 / size };
}
