// The site's pages open from disk, its search finds a section, and narrow screens have room: node site_search.mjs CHROMIUM SITE
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { join } from "node:path";
import { Browser } from "../browser/browser.mjs";

const [chromium, site] = process.argv.slice(2);
for (const [width, height] of [[1280, 800], [390, 844]]) {
  const browser = await Browser.open(chromium, { width, height });
  try {
    browser.own = pathToFileURL(site).href; // its own styles and scripts
    await browser.send("Page.navigate", { url: pathToFileURL(join(site, "docs/howto/bring_your_network.html")).href });
    await browser.until(() => document.readyState === "complete" && document.querySelector("main h1") !== null);
    const [wide, room] = await browser.ask(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(wide <= room, `${wide} pixels on a screen of ${room}`);
    await browser.ask(() => document.getElementById("search").focus());
    await browser.type("elasticity nic");
    const found = await browser.ask(() => [...document.querySelectorAll("#found a")].map((link) => [link.textContent, link.href]));
    assert.ok(found.some(([heading, address]) => /critical_path\.html#/.test(address) && heading.length > 0), JSON.stringify(found));
    await browser.picture(join(site, `${width}.png`), false);
    assert.deepEqual(browser.faults, []);
  } finally {
    await browser.close();
  }
}
