/* The charts of the page again, on a canvas: with zoom, brush and hover. */

import uPlot from "uplot";
import { columns } from "./columns.js";
import { milliseconds, seconds, timeLabels, timeSteps } from "./units.js";

const axisWidth = 58;
const axisHeight = 26;
const columnWidth = 4; /* pixels */

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

const lineColours = ["blue", "vermillion", "green", "purple", "orange", "sky", "grey", "ink"];
const lineDashes = [[], [7, 3], [2, 2], [8, 2, 2, 2]];

/* Times at which values change, and the column that holds until the next; null where none does. */
function timeline(found) {
  const times = [];
  const held = [];
  found.forEach((column, i) => {
    times.push(column.start);
    held.push(column);
    const next = found[i + 1];
    if (!next || next.start - column.end > 2 * (column.end - column.start)) {
      times.push(column.end);
      held.push(next ? null : column);
    }
  });
  return { times, held };
}

function frame(place, selection, height, unit) {
  const label = tick => unit ? `${tick} ${unit}` : milliseconds(tick);
  const axis = { stroke: colour("muted"), font: "11px system-ui, sans-serif",
    grid: { stroke: colour("rule"), width: 1 }, ticks: { show: false } };
  return {
    width: place.clientWidth,
    height: height + axisHeight,
    padding: [8, 14, null, null], /* half a label at the ends of the axes */
    legend: { live: true },
    scales: {
      x: { time: false, min: selection.from, max: selection.to },
      y: { range: (plot, low, high) => [0, unit === "%" ? 100 : high > 0 ? high * 1.05 : 1] },
    },
    axes: [
      { ...axis, size: axisHeight, space: 70, incrs: timeSteps,
        values: (plot, ticks) => timeLabels(ticks, plot.scales.x.max) },
      { ...axis, size: axisWidth,
        values: (plot, ticks) => ticks.map(label) },
    ],
    cursor: {
      sync: { key: "run" },
      drag: { x: true, y: false, setScale: false },
      /* a value holds until the next one */
      dataIdx: (plot, series, i, x) => i > 0 && plot.data[0][i] > x ? i - 1 : i,
      bind: { dblclick: () => () => { selection.clear(); return null; } },
    },
    hooks: {
      setSelect: [plot => {
        const { left, width } = plot.select;
        if (width < 3)
          return;
        const from = plot.posToVal(left, "x");
        const to = plot.posToVal(left + width, "x");
        plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        selection.set(from, to);
      }],
    },
  };
}

/* A chart of steps. `lines` are its series, for which held(i) is the column at a place; `values`
 * makes their numbers of the columns; `more` sets further options of uPlot. */
function columnChart(place, data, selection, height, { lines, values, more }) {
  let held = [];
  const fill = (from, to) => {
    const most = Math.ceil(place.clientWidth / columnWidth);
    const line = timeline(columns(data.steps, from, to, most));
    held = line.held;
    return [line.times, ...values(held)];
  };
  const options = frame(place, selection, height);
  const at = (plot, v, column, i) => v == null ? "move the pointer over the chart" : describe(held[i], v, selection);
  options.series = [{ label: "at", value: at }, ...lines(i => held[i])];
  more(options);
  const plot = new uPlot(options, fill(selection.from, selection.to), place);
  return { plot, update: (from, to) => {
    plot.setData(fill(from, to), false);
    plot.setScale("x", { min: from, max: to });
  } };
}

const stepped = () => ({ paths: uPlot.paths.stepped({ align: 1 }), points: { show: false } });

/* Of ten, from one to another. */
function powers(from, to) {
  const found = [];
  for (let power = Math.round(Math.log10(from)); power <= Math.round(Math.log10(to)); power++)
    found.push(10 ** power);
  return found;
}

/* A mark at the upper edge where a step is beyond it. */
function markBeyond(plot, values) {
  const { ctx, bbox } = plot;
  const size = 5 * devicePixelRatio;
  ctx.fillStyle = colour("alarm");
  values.forEach((value, i) => {
    const [times] = plot.data;
    const x = plot.valToPos((times[i] + (times[i + 1] ?? times[i])) / 2, "x", true);
    if (!(value > plot.scales.y.max) || x < bbox.left || x > bbox.left + bbox.width)
      return;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top - size);
    ctx.lineTo(x + size * 0.7, bbox.top);
    ctx.lineTo(x - size * 0.7, bbox.top);
    ctx.fill();
  });
}

const upTo = top => (plot, low, high) => [0, Math.min(high > 0 ? high * 1.05 : 1, top)];

/* A band with a line in it. The axis ends where src/html/html_steps.c says, so that a few slow steps do
 * not press all others to the ground; on request it is logarithmic and has all. */
function stepsChart(place, data, selection) {
  const { bottom, top, log_top: logTop } = data.steps;
  const band = colour("sky");
  const line = { ...stepped(), value: (plot, v) => milliseconds(v) };
  const pick = (held, value) => held.map(column => column && Math.max(data.log ? bottom : 0, value(column)));
  return columnChart(place, data, selection, 180, {
    lines: () => [
      { ...line, label: "longest", stroke: band, width: 1 },
      { ...line, label: "shortest", stroke: band, width: 1 },
      { ...line, label: "mean", stroke: colour("line"), width: 1.5 },
    ],
    values: held => [
      pick(held, column => column.max),
      pick(held, column => column.min),
      pick(held, column => column.total / column.steps),
    ],
    more: options => {
      options.bands = [{ series: [1, 2], fill: band + "8c" }];
      options.hooks.draw = [plot => markBeyond(plot, plot.data[1])];
      if (data.log) {
        options.scales.y = { distr: 3, range: [bottom, logTop] };
        options.axes[1].splits = () => powers(bottom, logTop);
      } else {
        options.scales.y.range = upTo(top);
      }
    },
  });
}

function describe(column, at, selection) {
  const time = seconds(at, selection.to - selection.from);
  if (!column)
    return time;
  const last = column.first + column.steps - 1;
  return column.steps === 1 ? `${time}, step ${column.first}`
    : `${time}, steps ${column.first} to ${last}, the slowest is ${column.slowest}`;
}

/* Stages lie on each other: each is filled down to 0, those further down cover it. */
function stackChart(place, data, selection) {
  const { stages } = data.steps;
  const shown = stages.map((stage, k) => k)
    .filter(k => stages[k].mean.some(v => v > 0)).reverse();
  const own = (column, k) => column ? column.stages[k] / column.steps : null;
  const sumTo = (column, top) =>
    shown.filter(k => k <= top).reduce((sum, k) => sum + own(column, k), 0);
  return columnChart(place, data, selection, 140, {
    lines: held => shown.map(k => ({
      ...stepped(), label: stages[k].name, width: 0, fill: colour(stages[k].name),
      value: (plot, v, column, i) => i == null ? "-" : milliseconds(own(held(i), k)),
    })),
    values: held => shown.map(top => held.map(column => column && sumTo(column, top))),
    more: options => {
      const fill = (plot, i) => i > 0 ? colour(stages[shown[i - 1]].name) : null;
      options.legend.markers = { fill };
      options.scales.y.range = upTo(data.steps.top);
    },
  });
}

/* Says what each line is under the pointer, in a column of the table below the chart. */
function showAt(table, rows) {
  const [title, ...cells] = [...table.rows].map(row =>
    row.querySelector(".at") || row.insertBefore(document.createElement("td"), row.cells[3]));
  for (const cell of [title, ...cells])
    cell.className = "n at";
  return plot => {
    const place = plot.cursor.idx;
    title.textContent = place == null ? "" : "here";
    const value = row => place == null ? null : row.values[Math.min(place, row.values.length - 1)];
    cells.forEach((cell, i) => {
      const own = i < rows.length ? value(rows[i]) : null;
      cell.textContent = own == null ? "" : Number(own.toPrecision(3));
    });
  };
}

function machineChart(place, rows, machine, selection) {
  const count = rows[0].values.length;
  const times = [];
  for (let i = 0; i <= count; i++)
    times.push(machine.begin + (machine.end - machine.begin) * i / count);
  const options = frame(place, selection, 70, rows[0].unit);
  options.series = [{ label: "at" },
    ...rows.map((row, i) => ({
      ...stepped(), label: row.label, width: 1.5,
      stroke: colour(lineColours[i % lineColours.length]),
      dash: lineDashes[i % lineDashes.length],
    }))];
  options.legend.show = false;
  options.hooks.setCursor = [showAt(place.nextElementSibling, rows)];
  const lines = rows.map(row => [...row.values, row.values[count - 1]]);
  const plot = new uPlot(options, [times, ...lines], place);
  return { plot, update: (from, to) => plot.setScale("x", { min: from, max: to }) };
}

/* Rows with the same unit in a row share a chart, at most 8 of them: as src/html/html_machine.c says. */
function machineGroups(rows) {
  const groups = [];
  for (const row of rows) {
    const last = groups[groups.length - 1];
    if (last && last[0].unit === row.unit && last.length < lineColours.length)
      last.push(row);
    else
      groups.push([row]);
  }
  return groups;
}

/* For readers who cannot see it: what the drawing that it replaces was called. */
function describeCanvas(place, plot) {
  const canvas = plot.root.querySelector("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", place.querySelector(".frame").getAttribute("aria-label"));
}

/* Draws all of them: each with its place, its plot, and how it shows another stretch of time. */
export function drawCharts(data, selection) {
  const charts = [];
  const groups = machineGroups(data.machine.rows);
  const draw = {
    steps: place => stepsChart(place, data, selection),
    stack: place => stackChart(place, data, selection),
    machine: place => machineChart(place, groups.shift(), data.machine, selection),
  };
  for (const place of document.querySelectorAll(".plot[data-chart]")) {
    if (!draw[place.dataset.chart])
      continue;
    place.classList.add("live");
    const chart = draw[place.dataset.chart](place);
    describeCanvas(place, chart.plot);
    charts.push({ place, ...chart });
  }
  return charts;
}
