// One case for each promise of the report page: node cases.mjs CHROMIUM LOCKSTEP SCENARIOS OUT CASE
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { decode } from "../../tools/report/web/src/data.js";
import { timesApart } from "../../tools/report/web/src/format.js";
import { Model, becauseOf } from "../../tools/report/web/src/timeline/model.js";
import { Browser } from "./browser.mjs";

const [chromium, lockstep, scenarios, out, name] = process.argv.slice(2);
const folder = join(out, name);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

/** Runs lockstep with --out and gives the folder; without a page there is nothing to test. */
function made(...command) {
  const said = execFileSync(lockstep, [...command, "--out", folder], { encoding: "utf8", cwd: folder });
  if (existsSync(join(folder, "report.html"))) return folder;
  console.log(`skipped: ${said.match(/no report.html.*/)?.[0]}`);
  process.exit(77);
}

async function looking(options, look) {
  const browser = await Browser.open(chromium, options);
  try {
    await browser.show(join(folder, "report.html"));
    await look(browser);
    await browser.frame();
    assert.deepEqual(browser.faults, []);
  } finally {
    await browser.close();
  }
}

/** What the timeline of a page tells, span by span of every lane. */
async function told() {
  const page = readFileSync(join(folder, "report.html"), "utf8");
  const { panels } = await decode(page.match(/id="data">([^<]*)</)[1]);
  const model = new Model(panels.find(({ panel }) => panel === "timeline").runs);
  const words = ["block", "name", "detail", "kind", "pass", "axes", "reason", "algorithm"];
  const times = [], facts = [], needs = [];
  for (const lane of model.lanes) {
    const { operations } = lane.run;
    lane.op.forEach((op, i) => {
      times.push(lane.start[i], lane.end[i]);
      facts.push([lane.group.name, lane.name, op, ...words.map((word) => operations.word(word, op)), operations.flops(op), operations.data.bytes[op],
        operations.microbatch(op), operations.data.pair[op] > 0 ? operations.halves(op) : "", becauseOf(lane, i)]);
      needs.push([...operations.before(op)]);
    });
    lane.start.forEach((start, i) => assert.ok(i === 0 || start >= lane.end[i - 1], `${lane.name} overlaps at ${i}`));
  }
  const path = [...model.runs[0].critical.op];
  return { bytes: page.length, times, facts, needs, path };
}

const figure = (label) => Number([...document.querySelectorAll(".figure")].find((node) => node.querySelector(".label").textContent === label)?.querySelector("data").value);
const headings = () => [...document.querySelectorAll("h2")].map((node) => node.textContent);
const shown = () => document.querySelector(".where").textContent;
const chosen = () => document.querySelector(".details:not([hidden]) h3")?.textContent;
const scenario = (file) => join(scenarios, file);

const paragraphs = (title) => [...[...document.querySelectorAll("section")].find((node) => node.querySelector("h2")?.textContent === title).querySelectorAll("p")].map((node) => node.textContent);

/** The page of a design has the sentences of its JSON, and pictures that were drawn well-formed. */
async function saysWhy(page, { answer, why, what_if }, titles, pictures = 1) {
  assert.equal(await page.ask(() => document.querySelector(".verdict").textContent), answer);
  assert.deepEqual(await page.ask(paragraphs, "Why"), [why.join(" ")]);
  assert.deepEqual(await page.ask(paragraphs, "What if"), what_if);
  const found = await page.ask(headings);
  for (const title of [...titles, "To get this again"]) assert.ok(found.includes(title), title);
  const drawings = await page.ask(() => [...document.querySelectorAll(".picture svg")].map((node) => node.namespaceURI));
  assert.ok(drawings.length >= pictures);
  for (const space of drawings) assert.equal(space, "http://www.w3.org/2000/svg");
  assert.equal(await page.ask(() => document.querySelectorAll("#page parsererror, #page script, #page img").length), 0);
}

const cases = {
  async run_numbers_are_those_of_result_json() {
    made("run", scenario("small.yaml"));
    const result = JSON.parse(readFileSync(join(folder, "result.json"), "utf8"));
    await looking({}, async (page) => {
      assert.equal(await page.ask(figure, "step time"), result.step_time_s);
      assert.equal(await page.ask(figure, "MFU"), result.mfu);
      assert.equal(await page.ask(figure, "tokens a second"), result.tokens_per_s);
      assert.equal(await page.ask(figure, "peak memory"), result.memory.peak_bytes);
      assert.equal(await page.ask(figure, "exposed comm."), result.breakdown.exposed_comm_s / result.step_time_s);
      const table = await page.ask(() => {
        const panel = [...document.querySelectorAll("section")].find((node) => node.querySelector("h2")?.textContent === "Where the step goes");
        return [...panel.querySelectorAll("tbody data")].map((node) => Number(node.value));
      });
      assert.equal(table[0], result.breakdown.compute_s);
      assert.equal(table.at(-1), table.slice(0, -1).reduce((sum, value) => sum + value, 0));
      await page.picture(join(folder, "light.png"));
    });
    await looking({ dark: true, width: 900 }, async (page) => {
      await page.picture(join(folder, "dark_narrow.png"));
      await page.print(join(folder, "printed.pdf"));
    });
  },

  /** A step that is folded in time tells what the whole one tells; rounding may move a copy's span by 2 ns. */
  async what_repeats_is_written_once() {
    for (const schedule of ["1f1b", "dualpipe"]) {
      const run = (microbatches, ...more) => {
        made("run", scenario("pipeline_alike.yaml"), "--set", `pipeline.schedule=${schedule}`, "--set", `batch.microbatches=${microbatches}`,
          "--set", `batch.sequences=${8 * microbatches}`, ...more);
        return told();
      };
      const folded = await run(96), whole = await run(96, "--no-fold"), longer = await run(960);
      assert.deepEqual(folded.facts, whole.facts);
      assert.deepEqual(folded.path, whole.path);
      folded.needs.forEach((needs, i) => { // sums over all microbatches tell those that were simulated
        if (whole.needs[i].length < 24) assert.deepEqual(needs, whole.needs[i]);
        else assert.ok(needs.length > 0 && needs.every((op) => whole.needs[i].includes(op)));
      });
      folded.times.forEach((time, i) => assert.ok(Math.abs(time - whole.times[i]) <= 2, `${schedule}: ${time}, not ${whole.times[i]}`));
      assert.equal(longer.facts.filter(([group]) => group === "stage 0").length > 9 * folded.facts.filter(([group]) => group === "stage 0").length, true);
      assert.ok(longer.bytes < 1.03 * folded.bytes, `${schedule}: ${folded.bytes} bytes, with ten times the microbatches ${longer.bytes}`);
    }
  },

  async timeline_zooms_and_finds() {
    made("run", scenario("small.yaml"));
    await looking({}, async (page) => {
      const all = await page.ask(shown);
      assert.match(all, /^all /);
      const [x, y] = await page.ask(() => {
        document.querySelector("canvas").scrollIntoView({ block: "center" });
        const box = document.querySelector("canvas").getBoundingClientRect();
        return [box.x + box.width / 2, box.y + 40];
      });
      await page.mouse("mouseWheel", x, y, { deltaX: 0, deltaY: -600 });
      const closer = await page.ask(shown);
      assert.match(closer, / – /);
      await page.click(x, y);
      await page.ask(() => document.querySelector("input[type=search]").focus());
      await page.type("AllGather");
      const found = Number((await page.ask(() => document.querySelector(".found").textContent)).match(/^(\d+) found$/)[1]);
      assert.ok(found > 3, `${found} gathers of weights in four layers`);
      await page.key("Enter");
      assert.match(await page.ask(chosen), /AllGather/);
      assert.match(await page.ask(() => document.querySelector(".details").textContent), /started then because/);
      await page.picture(join(folder, "found.png"), false);
      await page.ask(() => [...document.querySelectorAll("button")].find((node) => node.textContent === "all").click());
      await page.frame();
      assert.equal(await page.ask(shown), all);
    });
  },

  async names_stay_text() {
    const hostile = `<img src=x onerror=alert(1)>"'&<b>.yaml`;
    writeFileSync(join(folder, hostile), `# </script><script>alert(2)</script> <!--\n${readFileSync(scenario("small.yaml"))}`);
    made("run", hostile);
    await looking({}, async (page) => {
      assert.equal(await page.ask(() => document.querySelector("h1").textContent), hostile.replace(".yaml", ""));
      assert.match(await page.ask(() => document.querySelector("pre").textContent), /<\/script><script>alert\(2\)<\/script> <!--/);
      assert.equal(await page.ask(() => document.querySelectorAll("#page img, #page script, #page b:not(.tip b)").length), 0);
    });
  },

  // Every package whose code is in the page, and the notice that its licence asks for.
  async others_are_named() {
    made("run", scenario("small.yaml"));
    await looking({}, async (page) => {
      const notices = await page.ask(() => document.querySelector(".third-party pre").textContent);
      for (const name of ["@observablehq/plot", "d3-scale", "isoformat"]) assert.match(notices, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(ISC\\)$`, "m"));
      assert.match(notices, /^Copyright/m);
      assert.match(notices, /provided that the above copyright notice/);
    });
  },

  async pipeline_has_its_panels() {
    made("run", scenario("pipeline_alike.yaml"));
    const result = JSON.parse(readFileSync(join(folder, "result.json"), "utf8"));
    await looking({}, async (page) => {
      const titles = await page.ask(headings);
      for (const title of ["Timeline", "Where the step goes", "Why stages do not compute", "Memory of one chip over the step"]) assert.ok(titles.includes(title), title);
      assert.equal(await page.ask(figure, "pipeline bubble"), result.pipeline.bubble_fraction_step);
      await page.picture(join(folder, "pipeline.png"));
    });
  },

  async overlapped_pairs_are_marked() {
    const marked = async (schedule) => {
      made("run", scenario("pipeline_alike.yaml"), "--set", `pipeline.schedule=${schedule}`);
      let count;
      await looking({}, async (page) => {
        const legend = await page.ask(() => [...document.querySelectorAll(".timeline-panel .legend li")].map((node) => node.textContent));
        count = await page.ask(() => { // pixels of the bars' colour, #8b6fb8
          const canvas = document.querySelector("canvas");
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          let pixels = 0;
          for (let i = 0; i < data.length; i += 4) pixels += data[i] === 0x8b && data[i + 1] === 0x6f && data[i + 2] === 0xb8 ? 1 : 0;
          return pixels;
        });
        assert.equal(legend.includes("overlapped pair"), count > 0, schedule);
        await page.picture(join(folder, `${schedule}.png`), false);
      });
      return count;
    };
    assert.equal(await marked("1f1b"), 0);
    assert.ok(await marked("dualpipe") > 300);
  },

  async prints_finer_than_a_screen() {
    made("run", scenario("small.yaml"));
    await looking({ dark: true }, async (page) => {
      const finer = () => page.ask(() => document.querySelector("canvas").width / document.querySelector("canvas").clientWidth);
      assert.equal(await finer(), 1);
      await page.send("Emulation.setEmulatedMedia", { media: "print", features: [{ name: "prefers-color-scheme", value: "dark" }] });
      await page.frame();
      assert.ok(await finer() > 2.9);
      assert.equal(await page.ask(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
      assert.equal(await page.ask(() => getComputedStyle(document.querySelector(".controls")).display), "none");
      await page.picture(join(folder, "printed.png"));
    });
  },

  // Nothing is wider than a sheet of A4 less its margins, whatever the scenarios are called.
  async long_names_stay_on_the_page() {
    const names = ["a_name_of_a_scenario_that_never_comes_to_an_end_and_has_no_place_to_break", "another-name-of-a-scenario-that-never-comes-to-an-end-but-has-places-to-break", "short"];
    for (const one of names) writeFileSync(join(folder, `${one}.yaml`), readFileSync(scenario("small.yaml"), "utf8").replace("sequences: 64", `sequences: ${64 * one.length}`));
    made("compare", ...names.map((one) => `${one}.yaml`));
    for (const [width, media] of [[718, "print"], [1280, "screen"]]) {
      await looking({ width }, async (page) => {
        await page.send("Emulation.setEmulatedMedia", { media });
        await page.frame();
        assert.deepEqual(await page.ask((edge) => [...document.querySelectorAll("#page *")].filter((node) => node.getBoundingClientRect().right > edge + 1).map((node) => node.outerHTML.slice(0, 60)), width), []);
        const labels = await page.ask(() => [...document.querySelectorAll(".figure .label")].map((node) => [node.getBoundingClientRect().width, node.scrollWidth]));
        for (const [wide, needed] of labels) assert.ok(needed <= wide + 1, `${needed} in ${wide}`);
        await page.picture(join(folder, `${media}.png`));
      });
    }
  },

  // 3 layers x 2 microbatches have a result: six dots, and a line for each of the few values of the other key.
  async sweep_chart_follows_its_choices() {
    const said = execFileSync(lockstep, ["sweep", scenario("sweep_small.yaml"), "--report", "report.html"], { encoding: "utf8", cwd: folder });
    if (!existsSync(join(folder, "report.html"))) {
      console.log(`skipped: ${said.match(/no report.html.*/)?.[0]}`);
      process.exit(77);
    }
    await looking({}, async (page) => {
      assert.equal(await page.ask(figure, "points"), 9);
      assert.equal(await page.ask(figure, "refused"), 3);
      const dots = () => document.querySelectorAll(".chart circle").length;
      const legend = () => [...document.querySelectorAll(".sweep .legend li")].map((node) => node.textContent);
      assert.equal(await page.ask(dots), 12, "every point, and every point as the best of its kind");
      assert.deepEqual(await page.ask(legend), ["1", "2", "3"]);
      const choose = (label, value) => {
        const select = document.querySelector(`select[aria-label="${label}"]`);
        select.value = [...select.options].find((option) => option.textContent === value).value;
        select.dispatchEvent(new Event("change"));
      };
      await page.ask(choose, "by", "nothing");
      await page.frame();
      assert.equal(await page.ask(dots), 6 + 2, "the best of each number of microbatches");
      assert.deepEqual(await page.ask(legend), []);
      await page.ask(choose, "show", "mfu");
      await page.ask(choose, "over", "model.layers");
      await page.ask(choose, "by", "batch.microbatches");
      await page.frame();
      assert.match(await page.ask(() => document.querySelector(".chart").textContent), /mfu \(%\)/);
      await page.picture(join(folder, "sweep.png"));
    });
  },

  // A drag along the times sums up what lies between: over the whole step, compute adds up to what result.json says.
  async ranges_are_summed_up() {
    made("run", scenario("small.yaml"));
    const result = JSON.parse(readFileSync(join(folder, "result.json"), "utf8"));
    await looking({}, async (page) => {
      const rowsOf = () => [...document.querySelectorAll(".totals tbody tr")].map((row) => [...row.children].map((cell) => cell.querySelector("data")?.value ?? cell.textContent));
      await page.ask(() => document.querySelector("canvas.timeline").focus());
      await page.key("t");
      const all = await page.ask(rowsOf);
      const computing = all.filter(([lane]) => lane.endsWith("compute")).reduce((sum, row) => sum + Number(row[3]), 0);
      assert.ok(Math.abs(computing - result.breakdown.compute_s) < 1e-6 * result.breakdown.compute_s + 1e-7, `${computing} of ${result.breakdown.compute_s}`);
      // The middle half, by the mouse.
      const box = await page.ask(() => { const { left, top, right } = document.querySelector("canvas.timeline").getBoundingClientRect(); return { left: left + 168, top, right }; });
      const at = (share) => box.left + share * (box.right - box.left);
      await page.mouse("mousePressed", at(0.25), box.top + 8, { button: "left", buttons: 1, clickCount: 1 });
      for (const share of [0.4, 0.6, 0.75]) await page.mouse("mouseMoved", at(share), box.top + 8, { button: "left", buttons: 1 });
      await page.mouse("mouseReleased", at(0.75), box.top + 8, { button: "left", clickCount: 1 });
      const half = await page.ask(rowsOf);
      const sum = (rows) => rows.reduce((total, row) => total + Number(row[3]), 0);
      assert.ok(half.length > 3 && sum(half) < 0.8 * sum(all) && sum(half) > 0.2 * sum(all));
      // A click on a column's name orders the rows, a second one the other way.
      const press = () => document.querySelectorAll(".totals th button")[2].click();
      await page.ask(press);
      const counts = (await page.ask(rowsOf)).map((row) => Number(row[2]));
      assert.deepEqual(counts, [...counts].sort((a, b) => b - a));
      await page.ask(press);
      assert.deepEqual((await page.ask(rowsOf)).map((row) => Number(row[2])), [...counts].sort((a, b) => a - b));
      await page.key("Escape");
    });
  },

  // What a click tells stands on the screen beside the span, and does not cover it, wherever that lies.
  async details_stay_on_the_screen() {
    made("run", scenario("pipeline_alike.yaml"));
    await looking({ width: 1280, height: 720 }, async (page) => {
      const boxes = () => ["canvas.timeline", ".timeline-frame", ".details"].map((name) => { const { left, right, top, bottom } = document.querySelector(name).getBoundingClientRect(); return { left, right, top, bottom }; });
      const gutter = 168;
      const places = new Set();
      for (const down of [0.2, 0.55, 0.95]) {
        for (const across of [0.1, 0.5, 0.7]) {
          const [canvas, frame] = await page.ask(boxes);
          const bottom = Math.min(frame.bottom, 720);
          let x, y;
          for (y = frame.top + down * (bottom - frame.top); y > frame.top; y -= 7) { // up to a lane that has a span there
            x = canvas.left + gutter + across * (canvas.right - canvas.left - gutter);
            await page.click(x, y);
            if (await page.ask(chosen)) break;
          }
          assert.ok(await page.ask(chosen), `a span at ${across}, ${down}`);
          const [, , drawer] = await page.ask(boxes);
          assert.ok(drawer.top >= 0 && drawer.bottom <= 720 && drawer.left >= 0 && drawer.right <= 1280, `details at ${JSON.stringify(drawer)}`);
          assert.ok(x < drawer.left || x > drawer.right || y < drawer.top || y > drawer.bottom, "the span is not covered");
          const [, from, to] = (await page.ask(() => document.querySelector(".details dd").textContent)).match(/from (.*) to (.*)/);
          assert.notEqual(from, to);
          places.add(drawer.left < 640 ? "left" : "right");
          await page.ask(() => document.querySelector(".details .close").click());
          assert.equal(await page.ask(() => document.querySelector(".details").hidden), true);
        }
      }
      assert.equal(places.size, 2);
      await page.ask(() => document.querySelector("canvas.timeline").focus());
      await page.key("]");
      await page.picture(join(folder, "page.png"), false);
    });
  },

  // "5.89 s to 5.89 s" says nothing: both ends have one unit, and three digits of what lies between them.
  async times_tell_ends_apart() {
    for (const [from, to, text] of [[5.8912345, 5.8930456, "5.89123 s, 5.89305 s"], [0, 10.3, "0.00 s, 10.30 s"], [0.66941, 0.67022612, "669.410 ms, 670.226 ms"],
      [0, 816.1e-6, "0.00 us, 816.10 us"], [2e-9, 9e-9, "2 ns, 9 ns"], [1, 1, "1.00 s, 1.00 s"], [1, 1 + 1e-9, "1.000000000 s, 1.000000001 s"]])
      assert.equal(timesApart(from, to).join(", "), text);
  },

  // Two fingers zoom in on the time between them, and the lanes leave room to scroll past them.
  async fingers_move_the_timeline() {
    made("run", scenario("small.yaml"));
    await looking({ width: 390, height: 844 }, async (page) => {
      await page.send("Emulation.setTouchEmulationEnabled", { enabled: true, maxTouchPoints: 2 });
      await page.ask(() => document.querySelector("canvas.timeline").scrollIntoView({ block: "center" }));
      const box = await page.ask(() => { const { left, right, top } = document.querySelector("canvas.timeline").getBoundingClientRect(); return { left, right, top }; });
      const touch = async (type, ...xs) => {
        await page.send("Input.dispatchTouchEvent", { type, touchPoints: xs.map((x, id) => ({ x, y: box.top + 40, id })) });
        await page.frame();
      };
      const middle = (box.left + box.right) / 2 + 40, all = await page.ask(shown);
      await touch("touchStart", middle - 20, middle + 20);
      for (const apart of [30, 45, 60]) await touch("touchMove", middle - apart, middle + apart);
      await touch("touchEnd");
      const zoomed = await page.ask(shown);
      assert.match(all, /^all /);
      assert.match(zoomed, / – /, "the fingers zoom");
      assert.equal(await page.ask(chosen), undefined, "and choose nothing");
      await touch("touchStart", middle);
      await touch("touchEnd");
      assert.ok(await page.ask(chosen), "a tap chooses");
      const wide = await page.ask(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(wide[0] <= wide[1], `${wide[0]} pixels on a screen of ${wide[1]}`);
      await page.picture(join(folder, "page.png"));
    });
  },

  // The saved picture is well formed, holds every lane, and its spans lie inside.
  async the_timeline_is_saved() {
    made("run", scenario("small.yaml"));
    await looking({}, async (page) => {
      const text = await page.ask(() => new Promise((resolve) => {
        const make = URL.createObjectURL;
        URL.createObjectURL = (blob) => { blob.text().then(resolve); return make(blob); };
        [...document.querySelectorAll("button")].find((node) => node.textContent === "SVG").click();
      }));
      writeFileSync(join(folder, "timeline.svg"), text);
      const faults = await page.ask((svg) => {
        const drawn = new DOMParser().parseFromString(svg, "image/svg+xml");
        if (drawn.querySelector("parsererror")) return ["not well formed"];
        const wide = Number(drawn.documentElement.getAttribute("width"));
        const spans = [...drawn.querySelectorAll("rect")].filter((rect) => rect.querySelector("title"));
        return [spans.length > 20 ? "" : `${spans.length} spans`, spans.every((rect) => Number(rect.getAttribute("x")) >= 168 && Number(rect.getAttribute("x")) + Number(rect.getAttribute("width")) <= wide + 0.5) ? "" : "outside"];
      }, text);
      assert.deepEqual(faults, ["", ""]);
    });
  },

  // An operation has one colour in the program's drawing and in the page's; nearly all that the drawing shows are on the page.
  async drawings_have_the_pages_colours() {
    made("run", scenario("small.yaml"));
    const drawn = [...readFileSync(join(folder, "timeline.svg"), "utf8").matchAll(/fill="(#[0-9a-f]{6})"[^>]*><title>(.*?) [0-9.]+ [a-z]+<\/title>/g)].map(([, fill, name]) => [name, fill]);
    assert.ok(new Set(drawn.map(([, fill]) => fill)).size >= 3, `${drawn}`);
    await looking({}, async (page) => {
      for (let i = 0; i < 3; ++i) await page.key("w");
      const text = await page.ask(() => new Promise((resolve) => {
        const make = URL.createObjectURL;
        URL.createObjectURL = (blob) => { blob.text().then(resolve); return make(blob); };
        [...document.querySelectorAll("button")].find((node) => node.textContent === "SVG").click();
      }));
      const shown = new Map([...text.matchAll(/fill="(#[0-9a-f]{6})"><title>[^<]*? \| (.*?): [^<]*<\/title>/g)].map(([, fill, name]) => [name, fill]));
      const both = drawn.filter(([name]) => shown.has(name));
      assert.ok(both.length > 0.6 * drawn.length, `${both.length} of ${drawn.length}: ${[...shown.keys()]}; ${drawn}`);
      for (const [name, fill] of both) assert.equal(shown.get(name), fill, name);
    });
  },

  // The headline, the table and the dots over memory are those of plan.json.
  async plans_have_their_panels() {
    writeFileSync(join(folder, "node.yaml"), "format: 1\nmodel: {layers: 4, d_model: 512, d_ff: 2048, heads: 8, kv_heads: 4, vocabulary: 4096}\ncluster: h100:1\n" +
      "batch: {sequences: 32, sequence_length: 512}\nsearch: {tensor: [1, 2], pipeline: [1, 2], zero: [1, 3], recompute: none, microbatches: [2, 4], memory: 280 MB}\n");
    made("plan", "node.yaml");
    const found = JSON.parse(readFileSync(join(folder, "plan.json"), "utf8"));
    await looking({}, async (page) => {
      assert.equal(await page.ask(figure, "step time"), found.best[0].step_time_s);
      assert.equal(await page.ask(figure, "peak memory"), found.best[0].memory.peak_bytes);
      assert.equal(await page.ask(figure, "gap"), 0);
      const titles = await page.ask(headings);
      for (const title of ["Timeline of the best plan", "The best plans", "Step time against memory", "Best plans with less memory"]) assert.ok(titles.includes(title), title);
      const times = await page.ask(() => [...document.querySelector('section[aria-label="The best plans"]').querySelectorAll("tbody tr")].map((row) => Number(row.querySelectorAll("data")[0].value)));
      assert.deepEqual(times, found.best.map((plan) => plan.step_time_s));
      const peaks = new Set(found.within_memory.filter(({ best }) => best).map(({ best }) => best.memory.peak_bytes));
      assert.equal(await page.ask(() => document.querySelectorAll('section[aria-label="Step time against memory"] circle').length), peaks.size);
      await page.picture(join(folder, "plan.png"));
    });
    made("plan", "node.yaml", "--chips", "8..32");
    await looking({ dark: true, width: 390 }, async (page) => {
      assert.equal(await page.ask(() => document.querySelectorAll('section[aria-label="Step time over chips"] circle').length), 3);
      await page.picture(join(folder, "chips_narrow.png"));
    });
  },

  // Dots: one for each size of each algorithm, as in the document.
  async collectives_have_their_panels() {
    made("collective", "all_reduce", "--cluster", "dgx-h100:4", "--group", "gpu+node", "--bytes", "64KiB..64MiB");
    const found = JSON.parse(readFileSync(join(folder, "collective.json"), "utf8"));
    await looking({}, async (page) => {
      assert.equal(await page.ask(figure, "bus bandwidth"), found.rows.at(-1).busbw_bytes_per_s);
      for (const title of ["Time", "Bus bandwidth"])
        assert.equal(await page.ask((name) => document.querySelectorAll(`section[aria-label="${name}"] circle`).length, title), found.rows.length + found.others.length);
      assert.ok((await page.ask(headings)).includes("Busiest links"));
      await page.picture(join(folder, "collective.png"));
    });
  },

  async goodput_has_its_panels() {
    made("goodput", scenario("small.yaml"), "--step-time", "2 s", "--set",
      "reliability={failures: {bug: {of: job, mtbf: 10000 s}}, restart: 90 s, checkpoint: {size: 1 GB, write_bandwidth: 100 MB/s}}");
    const found = JSON.parse(readFileSync(join(folder, "goodput.json"), "utf8"));
    await looking({ width: 900 }, async (page) => {
      assert.equal(await page.ask(figure, "goodput"), found.goodput);
      assert.equal(await page.ask(figure, "best goodput"), found.checkpoint.goodput_at_best);
      const shares = await page.ask(() => [...document.querySelector('section[aria-label="Where the time goes"]').querySelectorAll("tbody tr")].map((row) => Number([...row.querySelectorAll("data")].at(-1).value)));
      for (const sum of shares) assert.ok(Math.abs(sum - 1) < 1e-9, `${sum}`);
      assert.equal(await page.ask(() => document.querySelectorAll('section[aria-label^="Goodput over"] circle').length), 2);
      await page.picture(join(folder, "goodput.png"));
    });
  },

  async validation_has_its_panels() {
    const columns = "model,layers,d_model,d_ff,heads,vocabulary,cluster,sequences,sequence_length,measured_step_s,measured_peak_bytes,source";
    writeFileSync(join(folder, "own.csv"), `${[columns, ...[4, 8, 16].map((count) => `mine,2,64,128,4,256,tpu-v5p:1x1x1,${count},64,${count}e-7,,a log`)].join("\n")}\n`);
    made("validate", "own.csv", "--model-of-time", "ideal");
    const found = JSON.parse(readFileSync(join(folder, "validation.json"), "utf8"));
    await looking({}, async (page) => {
      assert.equal(await page.ask(figure, "rows"), 3);
      assert.ok(Math.abs((await page.ask(figure, "mean error")) - found.families[0].mean_abs_pct / 100) < 1e-12);
      assert.equal(await page.ask(() => document.querySelectorAll('section[aria-label^="Predicted against"] circle').length), 3);
      const errors = await page.ask(() => [...document.querySelector('section[aria-label="Worst rows"]').querySelectorAll("tbody tr")].map((row) => Math.abs(Number([...row.querySelectorAll("data")].at(-1).value))));
      assert.deepEqual(errors, [...errors].sort((a, b) => b - a));
      await page.picture(join(folder, "validation.png"));
    });
  },

  async schedules_stand_side_by_side() {
    made("schedule", "1f1b", "zb-h1", "interleaved", "--stages", "4", "--microbatches", "8");
    const found = JSON.parse(readFileSync(join(folder, "schedules.json"), "utf8"));
    await looking({}, async (page) => {
      for (const row of found.rows ?? found.schedules) assert.equal(await page.ask(figure, row.schedule ?? row.name), row.makespan);
      assert.ok((await page.ask(headings)).includes("Timeline"));
      await page.picture(join(folder, "schedules.png"));
    });
  },

  async designed_schedules_say_why() {
    const command = ["schedule", "design", "--stages", "3", "--microbatches", "6", "--times", "1,1,1/1,1,1/2,2,2", "--memory-limit", "2"];
    made(...command);
    const { makespan, lower_bound, design } = JSON.parse(readFileSync(join(folder, "schedule.json"), "utf8"));
    await looking({}, async (page) => {
      await saysWhy(page, design, ["What each rank waits for", "The designed order", "The best published order", "Beside the published schedules"]);
      assert.equal(await page.ask(figure, "makespan"), makespan);
      assert.equal(await page.ask(figure, "lower bound"), lower_bound);
      assert.match(await page.ask(() => document.querySelector("pre").textContent), new RegExp(`^lockstep ${command.join(" ")}$`));
      await page.picture(join(folder, "design.png"));
    });
  },

  async designed_networks_say_why() {
    const hostile = "</script><img src=x onerror=alert(1)>.yaml";
    writeFileSync(join(folder, "job.yaml"), readFileSync(scenario("small.yaml")));
    writeFileSync(join(folder, "space<b>.yaml"), `grid: {cluster.node.nics.count: [8, 2]} # ${hostile}\n`);
    made("design", "network", "job.yaml", "--prices", scenario("../prices/round.yaml"), "--tokens", "1e12", "--space", "space<b>.yaml", "--set", "mesh={}", "--set",
      "parallel={data: 32}", "--set", "cluster={node: dgx-h100, nodes: 4}");
    const found = JSON.parse(readFileSync(join(folder, "network.json"), "utf8"));
    await looking({}, async (page) => {
      await saysWhy(page, found, ["Time over price", "What a step waits for", "All networks"]);
      const chosen = found.front.find(({ number }) => number === found.cheapest_run);
      assert.equal(await page.ask(figure, "cheapest run"), chosen.cost.total);
      assert.ok((await page.ask(() => document.querySelector("pre").textContent)).includes(hostile));
      await page.picture(join(folder, "network.png"));
    });
  },

  async designed_collectives_say_why() {
    const hostile = "<img src=x onerror=alert(1)>.yaml";
    writeFileSync(join(folder, hostile), "format: 1 # </script><b>\nmodel: llama-2-7b\ncluster: tpu-v5e:4x4\nparallel: {fsdp: 16}\nbatch: {sequences: 16, sequence_length: 1024}\n");
    made("collective", "all_reduce", "--cluster", hostile, "--group", "x+y", "--bytes", "64MiB", "--algorithm", "designed");
    const found = JSON.parse(readFileSync(join(folder, "collective.json"), "utf8"));
    await looking({}, async (page) => {
      await saysWhy(page, found.designed, ["Busy links", "Beside every algorithm that can serve"]);
      assert.equal(await page.ask(figure, "time"), found.rows[0].time_s);
      assert.equal(await page.ask(() => document.querySelector("h1").textContent), `Designed all_reduce on ${hostile}`);
      await page.picture(join(folder, "collective.png"));
    });
  },

  async designed_placements_say_why() {
    const hostile = "<img src=x onerror=alert(1)>.yaml";
    const host = (number) => `"<b>gpu${number}"`;
    writeFileSync(join(folder, "network.yaml"), `hosts: [{names: "<b>gpu[1-4]", adapters: 1}]\nswitches: [leaf1, leaf2, spine]\nlinks:\n` +
      [[1, 1], [2, 1], [3, 2], [4, 2]].map(([number, leaf]) => `  - {from: ${host(number)}, to: leaf${leaf}, rate: 400 Gbps}\n`).join("") +
      "  - {from: leaf1, to: spine, rate: 50 Gbps}\n  - {from: leaf2, to: spine, rate: 50 Gbps}\n");
    writeFileSync(join(folder, hostile), "format: 1\nmodel: {type: two-matmul, layers: 4, d_model: 4096, d_ff: 8192}\n" +
      `cluster: {graph: network.yaml, node: {like: dgx-h100, chips: 1}, placement: {hosts: [${[1, 3, 2, 4].map(host)}]}}\n` +
      "mesh: {fsdp: [node/2], data: [node]}\nparallel: {fsdp: 2, data: 2}\nbatch: {sequences: 16, sequence_length: 64}\n");
    made("design", "placement", hostile);
    const found = JSON.parse(readFileSync(join(folder, "placement.json"), "utf8"));
    for (const width of [1440, 390]) await looking({ width }, async (page) => {
      await saysWhy(page, found, ["Where ranks stand", "What a step waits for", "Orders that were tried"]);
      assert.equal(await page.ask(figure, "best order found"), found.best_step_s);
      assert.match(await page.ask(() => document.querySelector(".picture svg").textContent), /<b>gpu4: place/);
      assert.ok(await page.ask(() => document.documentElement.scrollWidth <= innerWidth), "nothing wider than the page");
      await page.picture(join(folder, `placement${width}.png`));
    });
  },

  async placed_experts_say_why() {
    writeFileSync(join(folder, "counted.csv"), "expert,tokens\n0,900\n1,800\n2,100\n3,100\n4,100\n5,100\n6,100\n7,100\n");
    writeFileSync(join(folder, "job.yaml"), "format: 1\nmodel: {layers: 2, d_model: 512, heads: 8, vocabulary: 0, moe: {experts: 8, experts_per_token: 2, d_ff: 1024}}\n" +
      "cluster: {node: dgx-h100, nodes: 1}\nparallel: {expert: 4, data: 2}\nrouting: {loads: counted.csv}\nbatch: {sequences: 8, sequence_length: 512}\n");
    made("design", "experts", "job.yaml");
    const found = JSON.parse(readFileSync(join(folder, "experts.json"), "utf8"));
    await looking({}, async (page) => {
      await saysWhy(page, found, ["Tokens of each rank, all layers", "The fullest rank of each layer"], 0);
      assert.equal(await page.ask(figure, "step with these places"), found.placed_step_s);
      await page.picture(join(folder, "experts.png"));
    });
  },

  async keys_alone_are_enough() {
    made("run", scenario("small.yaml"));
    await looking({}, async (page) => {
      for (let i = 0; i < 30 && !(await page.ask(() => document.activeElement.matches("canvas"))); ++i) await page.key("Tab");
      assert.ok(await page.ask(() => document.activeElement.matches("canvas")), "Tab comes to the timeline");
      const all = await page.ask(shown);
      for (const [closer, back] of [["w", "s"], ["ArrowUp", "ArrowDown"]]) {
        await page.key(closer);
        assert.notEqual(await page.ask(shown), all);
        await page.key(back);
        assert.equal(await page.ask(shown), all);
      }
      await page.key("w");
      const middle = await page.ask(shown);
      await page.key("d");
      assert.notEqual(await page.ask(shown), middle);
      await page.key("]");
      const first = await page.ask(chosen);
      await page.key("]");
      assert.ok(first && (await page.ask(chosen)) !== first);
      await page.key("Escape");
      assert.equal(await page.ask(chosen), undefined);
    });
  },
};

await cases[name]();
