/* The stretch of time that all charts show, kept in the address: #t=12.5-30. null is all of it. */

const pattern = /^#t=(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/;

export class Selection {
  constructor(begin, end) {
    this.begin = begin;
    this.end = end;
    this.range = null;
    this.listeners = [];
    window.addEventListener("hashchange", () => this.read());
  }

  watch(listener) {
    this.listeners.push(listener);
  }

  /* From the address. */
  read() {
    const found = pattern.exec(location.hash);
    if (found)
      this.change(Number(found[1]), Number(found[2]));
    else if (this.range && location.hash === "")
      this.change(this.begin, this.end);
  }

  /* A stretch that is too short or outside is cut to what there is. */
  set(from, to) {
    this.change(from, to);
    const hash = this.range ? `#t=${round(this.range[0])}-${round(this.range[1])}` : "";
    history.replaceState(null, "", location.pathname + location.search + hash);
  }

  change(from, to) {
    const shortest = (this.end - this.begin) / 1e5;
    from = Math.max(from, this.begin);
    to = Math.min(to, this.end);
    if (!(to - from >= shortest))
      return;
    const all = from <= this.begin && to >= this.end;
    this.range = all ? null : [from, to];
    for (const listener of this.listeners)
      listener(this.from, this.to);
  }

  get from() {
    return this.range ? this.range[0] : this.begin;
  }

  get to() {
    return this.range ? this.range[1] : this.end;
  }

  clear() {
    this.set(this.begin, this.end);
  }

  /* By this factor around the middle; below 1 it shows less. */
  zoom(factor) {
    const middle = (this.from + this.to) / 2;
    const half = (this.to - this.from) / 2 * factor;
    this.set(middle - half, middle + half);
  }

  /* By this share of what is shown. */
  move(share) {
    const length = this.to - this.from;
    let from = this.from + length * share;
    from = Math.min(Math.max(from, this.begin), this.end - length);
    this.set(from, from + length);
  }
}

function round(seconds) {
  return Math.max(0, Number(seconds.toFixed(6)));
}
