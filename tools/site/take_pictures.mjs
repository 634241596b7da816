// The pictures of docs/images, each with the command whose page it shows: node take_pictures.mjs CHROMIUM LOCKSTEP ROOT FOLDER
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Browser } from "../../tests/browser/browser.mjs";

const [chromium, lockstep, root, folder] = process.argv.slice(2);
const scenarios = join(root, "scenarios");

/** Into the middle of a step, where it shows the most: closer by so many steps. */
const closer = (times) => async (page) => {
  await page.ask(() => document.querySelector("canvas").focus());
  for (let i = 0; i < times; ++i) await page.key("w");
};

/** The first operation that the search finds, with what lies around it. */
const found = (words, times) => async (page) => {
  await page.ask(() => document.querySelector('input[type="search"]').focus());
  await page.type(words);
  await page.key("Enter");
  await page.ask(() => document.querySelector("canvas").focus());
  for (let i = 0; i < Math.abs(times); ++i) await page.key(times > 0 ? "w" : "s");
  await page.ask(() => scrollTo(0, 0));
};

const pictures = [
  { file: "report_fsdp.png", command: ["run", join(scenarios, "llama3-70b-v5p.yaml")], height: 790, look: found("layer 59", 0) },
  { file: "report_pipeline.png", command: ["run", join(scenarios, "llama3-405b-h100.yaml")], height: 870, look: async () => {} },
  { file: "report_dualpipe.png", command: ["run", join(scenarios, "llama3-405b-h100.yaml"), "--set", "pipeline.schedule=dualpipe-v", "--set", "batch.sequences=4096", "--set", "batch.microbatches=32"], height: 900, look: closer(3) },
  { file: "report_compare.png", command: ["compare", join(scenarios, "llama3-70b-h100.yaml"), join(scenarios, "llama3-70b-v5p.yaml")], height: 960, look: async () => {} },
  { file: "report_goodput.png", command: ["goodput", join(scenarios, "published/llama3-405b-54-days.yaml"), "--days", "54", "--set", "reliability.failures=published"], height: 1480, look: async () => {} },
];

for (const { file, command, height, look } of pictures) {
  const out = mkdtempSync(join(tmpdir(), "lockstep-picture-"));
  try {
    execFileSync(lockstep, [...command, "--out", out], { stdio: "ignore" });
    const browser = await Browser.open(chromium, { width: 1280, height });
    try {
      await browser.show(join(out, "report.html"));
      await look(browser);
      await browser.picture(join(folder, file), false);
    } finally {
      await browser.close();
    }
  } catch (error) {
    console.error(`take_pictures: ${file}: ${error.message}`);
    process.exitCode = 1;
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

// Three machines, the last of them four racks.
const out = mkdtempSync(join(tmpdir(), "lockstep-picture-"));
const racks = join(out, "llama3-70b-gb200.yaml");
const of_racks = ["cluster=gb200-nvl72:4", "batch.sequences=288", "parallel.tensor=8", "parallel.fsdp=36", "mesh={}"];
writeFileSync(racks, execFileSync(lockstep, ["run", join(scenarios, "llama3-70b-h100.yaml"), ...of_racks.flatMap((key) => ["--set", key]), "--dump", "scenario"]));
execFileSync(lockstep, ["compare", join(scenarios, "llama3-70b-h100.yaml"), join(scenarios, "llama3-70b-v5p-1024.yaml"), racks, "--out", join(out, "compare")], { stdio: "ignore" });
copyFileSync(join(out, "compare/compare.svg"), join(folder, "compare.svg"));
execFileSync(lockstep, ["compare", join(scenarios, "llama3-70b-h100-two-sites.yaml"), join(scenarios, "llama3-70b-h100-two-sites-diloco.yaml"), "--out", join(out, "sites")], { stdio: "ignore" });
copyFileSync(join(out, "sites/compare.svg"), join(folder, "two_sites.svg"));

// A designed order and the best published one under the same limit.
const pipeline = ["--stages", "4", "--microbatches", "12", "--times", "1,1.2,0.8/1,1.2,0.8/1,1.2,0.8/1.5,1.8,1.2", "--latency", "0.1", "--memory-limit", "3"];
execFileSync(lockstep, ["schedule", "design", ...pipeline, "--svg", join(folder, "design_schedule.svg")], { stdio: "ignore" });
execFileSync(lockstep, ["schedule", "zb-auto", ...pipeline, "--svg", join(folder, "design_schedule_published.svg")], { stdio: "ignore" });

// What links need under a designed collective, and where ranks stand, as docs/howto has them.
execFileSync(lockstep, ["collective", "all_reduce", "--cluster", "tpu-v5e:4x4", "--group", "x+y", "--bytes", "1GiB", "--algorithm", "designed", "--out", join(out, "links")], { stdio: "ignore" });
copyFileSync(join(out, "links/links.svg"), join(folder, "design_links.svg"));
const placement = join(out, "placement");
mkdirSync(placement);
for (const [, file, text] of readFileSync(join(root, "docs/howto/place_ranks.md"), "utf8").matchAll(/```yaml\n# (\S+)\n([^]*?)```/g)) writeFileSync(join(placement, file), text);
execFileSync(lockstep, ["design", "placement", "job.yaml", "--moves", "20", "--out", "found"], { cwd: placement, stdio: "ignore" });
copyFileSync(join(placement, "found/placement.svg"), join(folder, "design_placement.svg"));

// The power of one step on three networks.
const fabrics = "infiniband-ndr-fat-tree,{like: infiniband-ndr-fat-tree, oversubscription: 4},{like: infiniband-ndr-rail, rails: separate}";
const prices = join(scenarios, "../topologies/catalog/prices/example.yaml");
execFileSync(lockstep, ["cost", join(scenarios, "llama3-405b-h100.yaml"), "--prices", prices, "--tokens", "15.6e12", "--fabrics", fabrics, "--out", join(out, "cost")], { stdio: "ignore" });
copyFileSync(join(out, "cost/power.svg"), join(folder, "power.svg"));
// Time over price of three networks, as docs/case_studies/three_networks.md designs them.
const of_experts = join(out, "experts.yaml");
writeFileSync(of_experts, "list:\n  - {cluster.fabric.kind: fat_tree}\n  - {cluster.fabric.kind: rail_optimised, cluster.fabric.rails: joined}\n  - {cluster.fabric.kind: rail_optimised, cluster.fabric.rails: separate}\ngrid:\n  cluster.fabric.oversubscription: [1, 8]\n  cluster.node.nics.count: [8, 4]\n");
for (const [file, tokens, space, picture] of [
  ["llama3-405b-h100.yaml", "15.6e12", [], "network_dense.svg"],
  ["published/deepseek-v3.yaml", "14.8e12", ["--space", of_experts], "network_experts.svg"],
  ["published/llama3-405b-131k.yaml", "1e12", ["--space", of_experts], "network_long.svg"],
]) {
  execFileSync(lockstep, ["design", "network", join(scenarios, file), "--prices", prices, "--tokens", tokens, "--within", "0.5", ...space, "--out", join(out, "network")], { stdio: "ignore" });
  copyFileSync(join(out, "network/network.svg"), join(folder, picture));
}

// Jobs that share a network: the files of the page, on the hosts as given and on the best.
for (const [, file, text] of readFileSync(join(root, "docs/howto/share_a_network.md"), "utf8").matchAll(/```yaml\n# (\S+)\n([^]*?)```/g))
  writeFileSync(join(out, file), text);
const jobs = (file, words) => {
  execFileSync(lockstep, ["jobs", ...words, "--out", join(out, file)], { cwd: out, stdio: "ignore" });
  copyFileSync(join(out, file, "jobs.svg"), join(folder, `${file}.svg`));
};
jobs("two_jobs", ["dense.yaml", "experts.yaml", "--hosts", "given", "--hosts", "packed"]);
jobs("three_jobs", ["wide.yaml", "tokens.yaml", "small.yaml", "--hosts", "packed", "--hosts", "best"]);

// The steps of a good and of a bad week, and 54 days as predicted and as they were.
const weeks = [
  ["good_week", "[{jitter: 0.002, distribution: exponential}, {stragglers: 0.00002, slowdown: 1.1}]"],
  ["bad_week", "[{jitter: 0.01, distribution: exponential}, {stragglers: 0.0005, slowdown: 1.15}, {flaky_links: 0.0002, bandwidth: 0.5}]"],
];
for (const [file, variations] of weeks) {
  execFileSync(lockstep, ["run", join(scenarios, "published/llama3-405b-16k-gpus.yaml"), "--set", `variations=${variations}`, "--draws", "200", "--out", join(out, file)], { stdio: "ignore" });
  copyFileSync(join(out, file, "draws.svg"), join(folder, `${file}.svg`));
}
execFileSync(lockstep, ["goodput", join(scenarios, "published/llama3-405b-54-days.yaml"), "--days", "54", "--published", "--out", join(out, "days")], { stdio: "ignore" });
copyFileSync(join(out, "days/failures.svg"), join(folder, "failures_54_days.svg"));
rmSync(out, { recursive: true, force: true });
