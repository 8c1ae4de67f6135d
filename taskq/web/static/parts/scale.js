/** Round numbers for the axes of charts. Pure: values in, `ticks` and where a value stands out. */

const DURATIONS = [0.001, 0.01, 0.1, 1, 10, 60, 600, 3600, 21600, 86400, 604800];
const STEPS = [60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

/** The next of 1, 2, 5, 10, 20, 50 …. */
function round(value) {
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].find((each) => each * size >= value) * size;
}

/** From 0 to the next round number: at most five ticks, so that the axis seldom changes. */
export function counts(values) {
  const most = Math.max(1, ...values);
  const every = Math.max(1, round(most / 4));
  const top = Math.ceil(most / every) * every;
  const ticks = Array.from({ length: top / every + 1 }, (_, place) => place * every);
  return { ticks, share: (value) => value / top };
}

/** Seconds by their logarithm: milliseconds and hours can be read on the same axis. */
export function durations(values) {
  const low = Math.min(...values.filter((value) => value > 0));
  const from = Math.max(0, DURATIONS.findLastIndex((tick) => tick <= low));
  const least = DURATIONS.findIndex((tick) => tick >= Math.max(...values));
  const to = Math.max(from + 1, least < 0 ? DURATIONS.length - 1 : least);
  const [bottom, top] = [Math.log(DURATIONS[from]), Math.log(DURATIONS[to])];
  const share = (value) => Math.min(1, Math.max(0, (Math.log(value || DURATIONS[from]) - bottom) / (top - bottom)));
  const every = to - from > 5 ? 2 : 1;
  return { ticks: DURATIONS.slice(from, to + 1).filter((_, place) => (to - from - place) % every === 0), share };
}

/** Times between two (ms) that are round by a clock `ahead` minutes of UTC, at most `most` of them. */
export function times(from, to, most, ahead) {
  const every = 1000 * (STEPS.find((step) => (to - from) / 1000 / step <= most) ?? STEPS.at(-1));
  const shift = ahead * 60000;
  const first = Math.ceil((from + shift) / every) * every - shift;
  return Array.from({ length: Math.max(0, Math.floor((to - first) / every) + 1) }, (_, place) => first + place * every);
}
