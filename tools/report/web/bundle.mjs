// Makes the page without its data: node bundle.mjs SRC OUTPUT.gz. Styles and scripts are inside; nothing is loaded.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const [source, output] = process.argv.slice(2);
const options = { bundle: true, minify: true, write: false, charset: "ascii", target: "es2022", legalComments: "none", logLevel: "warning", nodePaths: [join(process.cwd(), "node_modules")] };
const bundled = async (entry, more) => (await build({ ...options, ...more, entryPoints: [join(source, entry)] })).outputFiles[0].text;

const style = await bundled("style.css");
const script = (await bundled("main.js", { format: "iife" })).replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
const parts = {
  SCRIPT_HASH: `sha256-${createHash("sha256").update(script, "utf8").digest("base64")}`,
  STYLE: style.trim(),
  SCRIPT: script,
};
// @DATA@ stays: the program puts its data there.
const page = readFileSync(join(source, "template.html"), "utf8").replace(/@(SCRIPT_HASH|STYLE|SCRIPT)@/g, (_, name) => parts[name]);
writeFileSync(output, gzipSync(page, { level: 9 }));
