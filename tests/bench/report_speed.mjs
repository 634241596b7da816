// How fast a report page is: node report_speed.mjs REPORT [RUNS]. Medians of several openings in headless Chromium.
// first picture: from navigation to the frame after the timeline is drawn; ready: with all charts; a frame while zooming in
// and out: from one frame to the next. Processor times are of the page's own thread: other programs do not count.
import { statSync } from "node:fs";
import { Browser } from "../browser/browser.mjs";

const [file, runs = 5] = process.argv.slice(2);
const middle = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const show = (name, values, unit) => console.log(`${name.padEnd(28)} ${middle(values).toFixed(1)} ${unit} (${Math.min(...values).toFixed(1)} to ${Math.max(...values).toFixed(1)})`);

const zoomed = () => new Promise((resolve) => {
  const button = (text) => [...document.querySelectorAll("button")].find((node) => node.textContent === text);
  const [closer, farther] = [button("+"), button("−")];
  const frames = [];
  let last = performance.now();
  const step = () => {
    const now = performance.now();
    frames.push(now - last);
    last = now;
    if (frames.length > 60) return resolve(frames.slice(1));
    (Math.floor(frames.length / 8) % 2 ? farther : closer).click();
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
});

const seen = { first: [], ready: [], start: [], frame: [], worst: [], task: [] };
for (let run = 0; run < Number(runs); ++run) {
  const page = await Browser.open("chromium");
  await page.send("Performance.enable");
  await page.send("Page.addScriptToEvaluateOnNewDocument", { source: `
    new MutationObserver((_, me) => {
      if (!document.querySelector("canvas.timeline")) return;
      me.disconnect();
      requestAnimationFrame(() => requestAnimationFrame(() => { window.first_picture = performance.now(); }));
    }).observe(document, { childList: true, subtree: true });` });
  const taken = async () => (await page.send("Performance.getMetrics")).metrics.find(({ name }) => name === "ThreadTime").value;
  await page.show(file);
  seen.first.push(await page.ask(() => window.first_picture));
  seen.ready.push(await page.ask(() => performance.now()));
  seen.start.push(1000 * await taken());
  await page.ask(zoomed); // warm
  const before = await taken();
  const frames = await page.ask(zoomed);
  seen.task.push((1000 * (await taken() - before)) / frames.length);
  seen.frame.push(middle(frames));
  seen.worst.push(frames.toSorted((a, b) => a - b)[Math.floor(0.95 * frames.length)]);
  await page.close();
}
console.log(`${file}: ${(statSync(file).size / 1e6).toFixed(2)} MB`);
show("first picture", seen.first, "ms");
show("ready", seen.ready, "ms");
show("processor time until ready", seen.start, "ms");
show("frame, median", seen.frame, "ms");
show("frame, 95th percentile", seen.worst, "ms");
show("processor time a frame", seen.task, "ms");
