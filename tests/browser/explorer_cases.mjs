// One case for each promise of the explorer: node explorer_cases.mjs CHROMIUM LOCKSTEP SCENARIOS OUT CASE
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { Browser } from "./browser.mjs";

const [chromium, lockstep, scenarios, out, name] = process.argv.slice(2);
const folder = join(out, name);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

/** Starts the server and gives its address, with the token. */
async function served(look, ...command) {
  const server = spawn(lockstep, ["explore", ...command], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "", wrong = "";
  server.stderr.on("data", (chunk) => { wrong += chunk; });
  try {
    const address = await new Promise((resolve, reject) => {
      server.stdout.on("data", (chunk) => {
        said += chunk;
        const found = said.match(/http:\/\/127\.0\.0\.1:\d+\/#token=[0-9a-f]{32}/);
        if (found) resolve(found[0]);
      });
      server.on("exit", () => reject(new Error(wrong)));
    }).catch((error) => {
      if (!/without Node\.js|cannot be loaded/.test(error.message)) throw error;
      console.log(`skipped: ${error.message}`);
      process.exit(77);
    });
    await look(address);
  } finally {
    server.kill();
  }
}

async function looking(options, file, look) {
  await served(async (address) => {
    const browser = await Browser.open(chromium, options);
    try {
      await browser.visit(address);
      await look(browser, address);
      await browser.frame();
      assert.deepEqual(browser.faults, []);
    } finally {
      await browser.close();
    }
  }, file);
}

const scenario = (file) => join(scenarios, file);
const json = (...command) => JSON.parse(execFileSync(lockstep, [...command, "--engine", "max_min", "--json", "-"], { encoding: "utf8" }));

// In the page.
const stepTime = () => Number([...document.querySelectorAll(".figure")].find((node) => node.querySelector(".label").textContent === "step time")?.querySelector("data").value);
const answers = () => Number(document.getElementById("page").dataset.answers);
const headings = () => [...document.querySelectorAll("h2")].map((node) => node.textContent);
const valueOf = (key) => document.getElementById(`control-${key}`).value;

/** Does something in the page and waits for the answer to it. */
async function answered(page, act, ...given) {
  const seen = await page.ask(answers);
  await page.ask(act, ...given);
  for (let i = 0; i < 500 && (await page.ask(answers)) === seen; ++i) await page.frame();
  assert.ok((await page.ask(answers)) > seen, "the page asked");
}

const set = (key, value) => {
  const input = document.getElementById(`control-${key}`);
  input.value = value;
  input.dispatchEvent(new Event("change"));
};
const press = (label) => [...document.querySelectorAll("button")].find((node) => node.textContent === label).click();

const cases = {
  // The page's numbers are those of lockstep run with the same keys, and the axis that takes the rest follows.
  async changes_are_simulated_while_one_watches() {
    await looking({}, scenario("small.yaml"), async (page) => {
      assert.equal(await page.ask(stepTime), json("run", scenario("small.yaml")).step_time_s);
      await answered(page, set, "sequences", 128);
      assert.equal(await page.ask(stepTime), json("run", scenario("small.yaml"), "--set", "batch.sequences=128").step_time_s);
      await answered(page, set, "tensor", 2);
      assert.equal(await page.ask(valueOf, "fsdp"), "32");
      assert.equal(await page.ask(stepTime),
        json("run", scenario("small.yaml"), "--set", "batch.sequences=128", "--set", "parallel.tensor=2", "--set", "parallel.fsdp=32", "--set", "mesh={}").step_time_s);
      await answered(page, set, "shape", "4x4x8");
      assert.equal(await page.ask(valueOf, "fsdp"), "64");
      for (let i = 0; i < 3; ++i) await answered(page, press, "back");
      assert.equal(await page.ask(stepTime), json("run", scenario("small.yaml")).step_time_s);
      await page.picture(join(folder, "page.png"));
    });
  },

  // Chunks of an interleaved schedule are none of 1f1b's, and slices of a sequence come with the schedule that has them.
  async another_schedule_keeps_what_it_takes() {
    const file = join(folder, "interleaved.yaml");
    writeFileSync(file, `format: 1
model: llama-3-8b
cluster: {node: dgx-h100, nodes: 4}
parallel: {tensor: 2, pipeline: 4, data: 4}
pipeline: {schedule: interleaved, chunks: 4, group: 4}
batch: {sequences: 32, sequence_length: 4096, microbatches: 8}
`);
    const same = async (page, pipeline) =>
      assert.equal(await page.ask(stepTime), json("run", file, "--set", `pipeline={${pipeline}}`).step_time_s);
    await looking({}, file, async (page) => {
      await answered(page, set, "schedule", "1f1b");
      await same(page, "schedule: 1f1b");
      await answered(page, set, "schedule", "interleaved-zb");
      await same(page, "schedule: interleaved-zb, chunks: 4");
      await answered(page, set, "schedule", "seq1f1b");
      await same(page, "schedule: seq1f1b, slices: 4");
      await answered(page, set, "schedule", "interleaved");
      await same(page, "schedule: interleaved, chunks: 4, group: 4");
    });
  },

  async pinned_steps_stay_beside() {
    await looking({}, scenario("small.yaml"), async (page) => {
      await answered(page, press, "pin this step");
      await answered(page, set, "sequences", 128);
      const shown = await page.ask(headings);
      for (const title of ["Timelines on one axis", "Where the step goes", "Memory at its peak", "What differs"]) assert.ok(shown.includes(title), title);
      const both = await page.ask(() => [...document.querySelectorAll(".figure")].map((node) => [node.querySelector(".label").textContent, Number(node.querySelector("data").value)]));
      assert.deepEqual(both.slice(0, 2), [["pinned", json("run", scenario("small.yaml")).step_time_s],
        ["now", json("run", scenario("small.yaml"), "--set", "batch.sequences=128").step_time_s]]);
      await answered(page, press, "unpin");
      assert.ok(!(await page.ask(headings)).includes("What differs"));
      await page.picture(join(folder, "page.png"));
    });
  },

  // The text that the page shows gives the same step with lockstep run, an edited text is simulated, and an address with
  // a state shows that state, without the token.
  async text_and_link_are_in_step() {
    await looking({}, scenario("small.yaml"), async (page, address) => {
      await answered(page, set, "sequences", 128);
      const file = join(folder, "shown.yaml");
      writeFileSync(file, await page.ask(() => document.querySelector("textarea").value));
      const step = await page.ask(stepTime);
      assert.equal(json("run", file).step_time_s, step);
      const link = await page.ask(() => location.href);
      assert.ok(!link.includes(address.split("token=")[1]), "a link does not hold the token");
      await answered(page, () => {
        const area = document.querySelector("textarea");
        area.value = area.value.replace("sequences: 128", "sequences: 256");
        [...document.querySelectorAll("button")].find((node) => node.textContent === "simulate this text").click();
      });
      assert.equal(await page.ask(stepTime), json("run", scenario("small.yaml"), "--set", "batch.sequences=256").step_time_s);
      await answered(page, (url) => { location.href = url; }, link);
      assert.equal(await page.ask(stepTime), step);
    });
  },

  async mistakes_stand_at_their_control() {
    await looking({}, scenario("small.yaml"), async (page) => {
      const step = await page.ask(stepTime);
      await answered(page, set, "sequences", 7);
      assert.match(await page.ask(() => document.querySelector(".status").textContent), /does not divide B = 7.*expected/);
      assert.equal(await page.ask(stepTime), step, "the last step stays");
      assert.equal(await page.ask(valueOf, "sequences"), "7");
      await answered(page, set, "sequences", 64);
      assert.doesNotMatch(await page.ask(() => document.querySelector(".status").textContent), /expected/);
      await answered(page, () => {
        document.querySelector("textarea").value = "format: 1\nmodel: <b>none</b>\n";
        [...document.querySelectorAll("button")].find((node) => node.textContent === "simulate this text").click();
      });
      assert.equal(await page.ask(() => document.querySelectorAll(".status b").length), 0, "what a user wrote is text");
    });
  },

  async keys_change_numbers() {
    await looking({}, scenario("small.yaml"), async (page) => {
      for (let i = 0; i < 40 && (await page.ask(() => document.activeElement.id)) !== "control-sequences"; ++i) await page.key("Tab");
      assert.equal(await page.ask(() => document.activeElement.id), "control-sequences", "Tab comes to the number");
      await page.ask(() => document.activeElement.select());
      const seen = await page.ask(answers);
      await page.type("128");
      await page.key("Tab");
      for (let i = 0; i < 500 && (await page.ask(answers)) === seen; ++i) await page.frame();
      assert.equal(await page.ask(stepTime), json("run", scenario("small.yaml"), "--set", "batch.sequences=128").step_time_s);
    });
  },

  async phones_have_room() {
    for (const [width, height, dark] of [[390, 844, false], [1280, 720, true], [1440, 900, false]]) {
      await looking({ width, height, dark }, scenario("small.yaml"), async (page) => {
        const wide = await page.ask(() => [document.documentElement.scrollWidth, innerWidth]);
        assert.ok(wide[0] <= wide[1], `${wide[0]} pixels on a screen of ${wide[1]}`);
        // The step time stays in sight of the control that changes it.
        await page.ask(() => document.getElementById("control-sequences").scrollIntoView({ block: "center" }));
        const before = await page.ask(() => document.querySelector(".status").textContent);
        await answered(page, set, "sequences", 128);
        const [text, top] = await page.ask(() => { const node = document.querySelector(".status"); return [node.textContent, node.getBoundingClientRect().top]; });
        assert.match(text, /^step time [0-9.]+ m?s, /);
        assert.notEqual(text, before);
        if (width < 760) assert.ok(top >= 0 && top < height, `the status is at ${top}`);
        await page.picture(join(folder, `${width}.png`));
      });
    }
  },

  // Without the token, with a wrong one, from a page of another origin, by another name: 403, and nothing is simulated.
  async strangers_are_refused() {
    await served(async (address) => {
      const { port } = new URL(address);
      const token = address.split("token=")[1];
      const ask = (headers, path = "/answer", method = "POST") => new Promise((resolve, reject) => {
        const question = request({ host: "127.0.0.1", port, path, method, headers }, (response) => {
          let body = "";
          response.on("data", (chunk) => { body += chunk; });
          response.on("end", () => resolve({ status: response.statusCode, body, headers: response.headers }));
        });
        question.on("error", reject);
        question.end(method === "POST" ? "{}" : undefined);
      });
      assert.equal((await ask({ "X-Lockstep-Token": token })).status, 200);
      assert.equal((await ask({})).status, 403);
      assert.equal((await ask({ "X-Lockstep-Token": "0".repeat(32) })).status, 403);
      assert.equal((await ask({ "X-Lockstep-Token": token.slice(1) })).status, 403);
      assert.equal((await ask({ "X-Lockstep-Token": token, Origin: "http://example.com" })).status, 403);
      assert.equal((await ask({ "X-Lockstep-Token": token, Origin: `http://127.0.0.1:${port}` })).status, 200);
      assert.equal((await ask({ "X-Lockstep-Token": token, Host: `example.com:${port}` })).status, 403);
      assert.equal((await ask({ Host: "example.com" }, "/", "GET")).status, 403);
      const page = await ask({}, "/", "GET");
      assert.equal(page.status, 200);
      assert.ok(!page.body.includes(token), "the page does not hold the token");
      assert.equal(page.headers["x-frame-options"], "DENY");
      assert.equal((await ask({}, "/../etc/passwd", "GET")).status, 404);
      assert.match((await ask({ "X-Lockstep-Token": token })).body, /^\{/);
    }, scenario("small.yaml"));
  },
};

await cases[name]();
