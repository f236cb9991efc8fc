/* Times as people read them. */

/* With as many digits as a stretch of this length needs. */
export function seconds(value, length) {
  const digits = Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(length))));
  return `${value.toFixed(digits)} s`;
}

/* From how many milliseconds a unit is used, and how many it has. */
const units = [[7.2e6, 3.6e6, "h"], [1.2e5, 6e4, "min"], [1e3, 1e3, "s"], [1, 1, "ms"],
  [Number.MIN_VALUE, 1e-3, "us"], [0, 1, "ms"]];

/* Three digits and a unit. */
export function milliseconds(value) {
  if (value == null)
    return "-";
  const [, size, unit] = units.find(([least]) => value >= least);
  return `${Number((value / size).toPrecision(3))} ${unit}`;
}

/* Round steps of a time axis, in seconds: 1, 2, 5 and zeros; then those of a clock, and of days. */
export const timeSteps = [];
for (let power = -6; power <= 1; power++)
  for (const digit of [1, 2, 5])
    timeSteps.push(Number((digit * 10 ** power).toPrecision(1)));
timeSteps.splice(timeSteps.indexOf(50), 1, 30);
for (const length of [60, 120, 300, 600, 1200, 1800])
  timeSteps.push(length);
for (const hours of [1, 2, 5, 10, 24, 48, 120, 240, 480, 1200, 2400])
  timeSteps.push(3600 * hours);

/* One unit for all ticks. */
export function timeLabels(ticks, end) {
  const [size, unit] = end < 300 ? [1, "s"] : end < 3 * 3600 ? [60, "min"] : [3600, "h"];
  return ticks.map(tick => `${Number((tick / size).toPrecision(6))} ${unit}`);
}
