/* The steps of a run, as src/html/html_data.c writes them: a list for each thing that is known of a
 * bucket of neighbouring steps. Times of steps are milliseconds. */

/* The buckets of a stretch of time, neighbours joined so that at most `most` are left: sums add up,
 * the shortest and the longest stay. */
export function columns(steps, from, to, most) {
  const all = steps.start;
  let first = 0;
  let end = all.length;
  while (first < end && steps.end[first] < from)
    first++;
  while (end > first && all[end - 1] > to)
    end--;
  const group = Math.max(1, Math.ceil((end - first) / most));
  const found = [];
  for (let i = first; i < end; i += group)
    found.push(join(steps, i, Math.min(i + group, end)));
  return found;
}

function join(steps, first, end) {
  const column = {
    start: steps.start[first], end: steps.end[end - 1], first: steps.first[first], steps: 0,
    min: Infinity, max: -Infinity, slowest: 0, stages: steps.stages.map(() => 0), total: 0,
  };
  for (let i = first; i < end; i++) {
    column.steps += steps.steps[i];
    column.min = Math.min(column.min, steps.min[i]);
    if (steps.max[i] > column.max) {
      column.max = steps.max[i];
      column.slowest = steps.slowest[i];
    }
    steps.stages.forEach((stage, k) => { column.stages[k] += stage.mean[i] * steps.steps[i]; });
  }
  column.total = column.stages.reduce((sum, own) => sum + own, 0);
  return column;
}
