// Finding operations by name.

/** Spans whose "layer | name" holds the text: {hits: [[lane, index]], matches(run, op)}; null without a text. */
export function search(model, text) {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return null;
  const matching = model.runs.map(({ operations }) => {
    const known = new Map(); // a few names serve all operations
    const flags = new Uint8Array(operations.data.name.length);
    for (let op = 0; op < flags.length; ++op) {
      const key = operations.data.block[op] * operations.words.length + operations.data.name[op];
      if (!known.has(key)) known.set(key, operations.name(op).toLowerCase().includes(wanted));
      flags[op] = known.get(key) ? 1 : 0;
    }
    return flags;
  });
  const hits = [];
  for (const lane of model.lanes) {
    const flags = matching[lane.run.number];
    lane.op.forEach((op, index) => flags[op] && hits.push([lane, index]));
  }
  hits.sort(([a, i], [b, j]) => a.start[i] - b.start[j]);
  return { hits, matches: (run, op) => matching[run.number][op] === 1 };
}
