// The page of a report: a heading and the panels that the data holds, in its order.
import { decode } from "./data.js";
import { element, fill } from "./dom.js";
import { painted, section, themeButton, thirdParty } from "./page.js";

async function show() {
  const page = document.getElementById("page");
  try {
    const data = await decode(document.getElementById("data").textContent);
    document.title = `${data.title} – Lockstep`;
    const main = element("main", {});
    fill(page,
      element("header", {},
        element("div", {}, element("h1", {}, data.title), element("p", { class: "subtitle" }, data.subtitle)), themeButton()),
      main,
      element("footer", {}, data.footer, thirdParty()));
    for (const panel of data.panels) {
      main.append(section(panel));
      if (panel.panel === "timeline") await painted(); // the first picture does not wait for the charts
    }
    page.dataset.ready = "true";
  } catch (error) {
    fill(page, element("p", { class: "failure" }, `This report cannot be shown: ${error.message}`));
    throw error;
  }
}

show();
