// Chromium without a window, spoken to over its DevTools pipe: no package is needed.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** A page opened from disk; `faults` collects console errors, exceptions and every request that leaves the page. */
export class Browser {
  static async open(program, { width = 1280, height = 800, dark = false } = {}) {
    const browser = new Browser();
    browser.profile = mkdtempSync(join(tmpdir(), "lockstep-browser-"));
    browser.process = spawn(program, ["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", `--user-data-dir=${browser.profile}`, "about:blank"],
      { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    browser.listen();
    const { targetInfos } = await browser.send("Target.getTargets");
    const { targetId } = targetInfos.find(({ type }) => type === "page");
    browser.session = (await browser.send("Target.attachToTarget", { targetId, flatten: true })).sessionId;
    for (const domain of ["Page", "Runtime", "Network", "Log"]) await browser.send(`${domain}.enable`);
    await browser.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
    await browser.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
    return browser;
  }

  faults = [];
  own = "none:"; // how addresses begin that a page may ask
  #waiting = new Map();
  #number = 0;

  listen() {
    let rest = "";
    this.process.stdio[4].on("data", (chunk) => {
      const messages = (rest + chunk).split("\0");
      rest = messages.pop();
      for (const message of messages) this.take(JSON.parse(message));
    });
  }

  take({ id, result, error, method, params }) {
    if (id) {
      const { resolve, reject } = this.#waiting.get(id);
      this.#waiting.delete(id);
      return error ? reject(new Error(error.message)) : resolve(result);
    }
    if (method === "Runtime.exceptionThrown") this.faults.push(`exception: ${params.exceptionDetails.exception?.description ?? params.exceptionDetails.text}`);
    if (method === "Runtime.consoleAPICalled" && ["error", "warning"].includes(params.type)) this.faults.push(`console: ${params.args.map((arg) => arg.value).join(" ")}`);
    if (method === "Log.entryAdded" && ["error", "warning"].includes(params.entry.level)) this.faults.push(`log: ${params.entry.text}`);
    if (method === "Network.requestWillBeSent" && params.request.url !== this.address && !params.request.url.startsWith(this.own) && !/^(data|blob):/.test(params.request.url)) this.faults.push(`request: ${params.request.url}`);
  }

  send(method, params = {}) {
    const id = ++this.#number;
    this.process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId: this.session })}\0`);
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  /** Opens a file and waits until it has drawn itself. */
  async show(file) {
    await this.open_address(pathToFileURL(file).href);
  }

  /** The same for an address; what lies below it may be asked too. */
  async visit(address) {
    this.own = new URL("/", address).href;
    await this.open_address(address);
  }

  async open_address(address) {
    this.address = address;
    await this.send("Page.navigate", { url: this.address });
    await this.until(() => document.getElementById("page")?.dataset.ready === "true");
    await this.frame();
  }

  /** What a function gives in the page; arguments travel as JSON. */
  async ask(question, ...given) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression: `(${question})(...${JSON.stringify(given)})`, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async until(condition, seconds = 20) {
    for (const end = Date.now() + 1000 * seconds; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 20))) {
      if (await this.ask(condition)) return;
    }
    throw new Error(`the page never came to: ${condition}`);
  }

  /** Lets the page draw what is pending. */
  async frame() { await this.ask(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(true))))); }

  async key(key) {
    const text = key.length === 1 ? key : undefined;
    await this.send("Input.dispatchKeyEvent", { type: "keyDown", key, text });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", key });
    await this.frame();
  }

  async type(text) {
    await this.send("Input.insertText", { text });
    await this.frame();
  }

  async mouse(type, x, y, more = {}) {
    await this.send("Input.dispatchMouseEvent", { type, x, y, button: "none", ...more });
    await this.frame();
  }

  async click(x, y) {
    for (const type of ["mousePressed", "mouseReleased"]) await this.mouse(type, x, y, { button: "left", clickCount: 1 });
  }

  /** A picture of the whole page, or of what is on the screen. */
  async picture(file, whole = true) {
    const { data } = await this.send("Page.captureScreenshot", { format: "png", captureBeyondViewport: whole, ...(whole ? { clip: await this.extent() } : {}) });
    writeFileSync(file, Buffer.from(data, "base64"));
  }

  async print(file) {
    const { data } = await this.send("Page.printToPDF", { printBackground: true });
    writeFileSync(file, Buffer.from(data, "base64"));
  }

  async extent() {
    const { cssContentSize: { width, height } } = await this.send("Page.getLayoutMetrics");
    return { x: 0, y: 0, width, height, scale: 1 };
  }

  async close() {
    const ended = new Promise((resolve) => this.process.on("exit", resolve));
    this.session = undefined; // to the browser, not to the page
    this.send("Browser.close").catch(() => {});
    await ended;
    for (let attempt = 0; attempt < 20; ++attempt) { // its helpers may still write for a moment
      try {
        return rmSync(this.profile, { recursive: true, force: true });
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }
}
