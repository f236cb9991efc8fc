/* Zoom, brush and hover on top of a page that is complete without them. */

import "uplot/dist/uPlot.min.css";
import { drawCharts } from "./charts.js";
import { columns } from "./columns.js";
import { Selection } from "./selection.js";
import { milliseconds, seconds } from "./units.js";

function read(id) {
  const element = document.getElementById(id);
  return element && JSON.parse(element.textContent);
}

function button(text, label, action) {
  const element = document.createElement("button");
  element.type = "button";
  element.textContent = text;
  element.title = label;
  element.setAttribute("aria-label", label);
  element.addEventListener("click", action);
  return element;
}

/* What the selected stretch holds, as a sentence. */
function describe(steps, from, to) {
  const length = to - from;
  const stretch = `${seconds(from, length)} to ${seconds(to, length)}`;
  const [all] = columns(steps, from, to, 1);
  if (!all)
    return `${stretch}: no step`;
  const shares = steps.stages.map((stage, k) => [stage.name, all.stages[k] / all.total])
    .filter(([, share]) => share >= 0.005)
    .sort((a, b) => b[1] - a[1])
    .map(([name, share]) => `${name}\u00a0${(100 * share).toFixed(1)}\u00a0%`);
  return `${stretch}: ${all.steps.toLocaleString("en")} steps of ` +
    `${milliseconds(all.total / all.steps)}; ${shares.join(", ")}`;
}

function makeBrush(data, selection, redraw) {
  const bar = document.getElementById("brush");
  const output = document.createElement("output");
  const controls = [
    button("+", "zoom in", () => selection.zoom(0.5)),
    button("\u2212", "zoom out", () => selection.zoom(2)),
    button("\u2190", "earlier", () => selection.move(-0.5)),
    button("\u2192", "later", () => selection.move(0.5)),
    button("all", "show all of it", () => selection.clear()),
  ];
  const log = button("log", "logarithmic axis of step times", () => {
    data.log = !data.log;
    log.setAttribute("aria-pressed", String(data.log));
    redraw();
  });
  log.setAttribute("aria-pressed", "false");
  bar.append(output, ...controls, log);
  bar.hidden = false;
  selection.watch((from, to) => {
    output.textContent = selection.range ? describe(data.steps, from, to)
      : `${describe(data.steps, from, to)}. Drag over a chart to look closer.`;
    for (const control of controls.slice(1))
      control.disabled = !selection.range;
  });
  document.addEventListener("keydown", event => {
    if (event.key === "Escape" && selection.range)
      selection.clear();
  });
}

/* Steps that are listed further down and were not in the stretch step back. */
function dimSteps(from, to) {
  for (const figure of document.querySelectorAll("figure.step")) {
    const start = Number(figure.dataset.start);
    figure.classList.toggle("outside", start < from || start > to);
  }
}

function showCharts(data, selection) {
  let charts = drawCharts(data, selection);
  const redraw = () => {
    for (const { plot } of charts)
      plot.destroy();
    charts = drawCharts(data, selection);
  };
  selection.watch((from, to) => {
    for (const { update } of charts)
      update(from, to);
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let width = document.body.clientWidth;
  new ResizeObserver(() => {
    if (document.body.clientWidth !== width) {
      width = document.body.clientWidth;
      for (const { place, plot } of charts)
        plot.setSize({ width: place.clientWidth, height: plot.height });
    }
  }).observe(document.body);
  return redraw;
}

/* Links to sections leave the selection in the address alone. */
function keepSelection(selection) {
  for (const link of document.querySelectorAll("nav a"))
    link.addEventListener("click", event => {
      if (!selection.range)
        return;
      event.preventDefault();
      document.querySelector(link.getAttribute("href")).scrollIntoView();
    });
}

function offerReport() {
  const text = document.getElementById("report");
  if (!text)
    return;
  document.querySelector("footer").append(" ", button("Download JSON", "the report as JSON", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text.textContent], { type: "application/json" }));
    link.download = "stepscope-report.json";
    link.click();
    URL.revokeObjectURL(link.href);
  }));
}

const data = read("data");
if (data) {
  const selection = new Selection(data.begin, data.end);
  makeBrush(data, selection, showCharts(data, selection));
  selection.watch(dimSteps);
  selection.change(data.begin, data.end);
  selection.read();
  keepSelection(selection);
}
offerReport();
