// Makes the pages without their data: node bundle.mjs SRC REPORT.gz EXPLORER.gz NOTICES. Styles and scripts are inside; nothing
// is loaded, and only the explorer asks the server that it came from. NOTICES are the licences of the packages that ended up in
// the pages, which hold them too.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { noticesOf } from "./notices.mjs";
import { gzipSync } from "node:zlib";

const [source, report, explorer, notices_file] = process.argv.slice(2);
const options = { bundle: true, minify: true, write: false, charset: "ascii", target: "es2022", legalComments: "none", logLevel: "warning", nodePaths: [join(process.cwd(), "node_modules")] };
const inputs = new Set();
const bundled = async (entry, more) => {
  const { outputFiles, metafile } = await build({ ...options, ...more, metafile: true, outdir: "bundled", entryPoints: [join(source, entry)] });
  for (const { inputs: used } of Object.values(metafile.outputs)) {
    for (const [file, { bytesInOutput }] of Object.entries(used)) if (bytesInOutput > 0) inputs.add(file);
  }
  return outputFiles[0].text;
};

const style = await bundled("style.css");
const scriptOf = async (entry) => (await bundled(entry, { format: "iife" })).replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
const scripts = { report: await scriptOf("main.js"), explorer: await scriptOf("explore.js") };
const notices = noticesOf(inputs);
writeFileSync(notices_file, notices);

// @DATA@ stays: the program puts its data there.
const template = readFileSync(join(source, "template.html"), "utf8");
for (const [output, script, connect] of [[report, scripts.report, "'none'"], [explorer, scripts.explorer, "'self'"]]) {
  const parts = {
    SCRIPT_HASH: `sha256-${createHash("sha256").update(script, "utf8").digest("base64")}`,
    CONNECT: connect,
    STYLE: style.trim(),
    SCRIPT: script,
    NOTICES: notices.replaceAll("&", "&amp;").replaceAll("<", "&lt;"),
  };
  const page = template.replace(/@(SCRIPT_HASH|CONNECT|STYLE|SCRIPT|NOTICES)@/g, (_, name) => parts[name]);
  writeFileSync(output, gzipSync(page, { level: 9 }));
}
