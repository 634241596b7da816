// The copyright and permission notices of the packages whose code is in the page.
import { readdirSync, readFileSync } from "node:fs";

const packageOf = (file) => file.match(/.*node_modules\/((?:@[^/]+\/)?[^/]+)\//);

/** A text of all notices; packages with the same one share it. `inputs`: files of the bundle. */
export function noticesOf(inputs) {
  const folders = new Map();
  for (const file of inputs) {
    const found = packageOf(file);
    if (found) folders.set(found[1], found[0]);
  }
  const packages = new Map();
  for (const [name, folder] of [...folders].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const { version, license } = JSON.parse(readFileSync(`${folder}package.json`, "utf8"));
    const file = readdirSync(folder).find((each) => /^(licen[cs]e|copying)/i.test(each));
    if (!file) throw new Error(`${name} ${version} (${license}) comes without the text of its licence`);
    const text = readFileSync(`${folder}${file}`, "utf8").replaceAll("\r", "").trim();
    packages.set(text, [...(packages.get(text) ?? []), `${name} ${version} (${license})`]);
  }
  return [...packages].map(([text, names]) => `${names.join("\n")}\n\n${text}\n`).join(`\n${"-".repeat(80)}\n\n`);
}
