// The data of the page: base64 of gzip of a JSON document and the columns that it points to (tools/report/report_data.hpp).

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return bytes;
}

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Reads whole numbers one after another: seven bits a byte, the lowest first; the top bit says that more follow. */
function wholeReader(bytes, at) {
  return () => {
    let byte = bytes[at++];
    let value = byte & 127;
    for (let factor = 128; byte > 127; factor *= 128) {
      byte = bytes[at++];
      value += (byte & 127) * factor;
    }
    return value;
  };
}

function wholeNumbers(bytes, at, count) {
  const next = wholeReader(bytes, at);
  const values = new Float64Array(count);
  for (let i = 0; i < count; ++i) values[i] = next();
  return values;
}

/** By turns how many new numbers follow, these, how many repeat what was there before, and how far before. */
export function repeatingNumbers(bytes, at, count) {
  const next = wholeReader(bytes, at);
  const values = new Float64Array(count);
  for (let i = 0; i < count;) {
    for (const end = i + next(); i < end; ++i) values[i] = next();
    const end = i + next(), before = next();
    if (before >= end - i) values.copyWithin(i, i - before, end - before);
    else for (let k = i; k < end; ++k) values[k] = values[k - before]; // what repeats repeats itself
    i = end;
  }
  return values;
}

/** Undoes the folding of signed whole numbers: 0, -1, 1, -2 came as 0, 1, 2, 3. */
export const signed = (value) => (value % 2 ? -(value + 1) / 2 : value / 2);

/** Numbers that came as differences, which repeat. */
export function growingNumbers(bytes, at, count) {
  const values = repeatingNumbers(bytes, at, count);
  for (let i = 0, sum = 0; i < count; ++i) values[i] = sum += signed(values[i]);
  return values;
}

/** IEEE doubles, the lowest byte first. */
function realNumbers(bytes, at, count) {
  return new Float64Array(bytes.slice(at, at + 8 * count).buffer); // as machines with a browser store them
}

const readers = {
  whole: wholeNumbers,
  repeating: repeatingNumbers,
  growing: growingNumbers,
  real: realNumbers,
  nested: (bytes, at, length) => unpacked(bytes.subarray(at, at + length)),
};

/** Makes object[key] when it is first asked for: the first picture needs few of the columns. */
function later(object, key, make) {
  const define = (property) => Object.defineProperty(object, key, { configurable: true, enumerable: true, ...property });
  define({ get: () => {
    const value = make();
    define({ value, writable: true });
    return value;
  } });
}

/** Puts columns where the document names them: {"whole": [at, count]}, {"real": [at, count]} and {"nested": [at, length]}. */
function resolved(value, columns) {
  if (value === null || typeof value !== "object") return value;
  for (const [key, part] of Object.entries(value)) {
    const kind = part !== null && typeof part === "object" && Object.keys(readers).find((name) => part[name]);
    if (kind) later(value, key, () => readers[kind](columns, ...part[kind]));
    else resolved(part, columns);
  }
  return value;
}

function unpacked(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const document = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  return resolved(document, bytes.subarray(4 + length));
}

export async function decode(base64) {
  return unpacked(await inflated(bytesOf(base64.trim())));
}
