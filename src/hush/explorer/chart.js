// Charts as SVG, without a library. Colours come from the style sheet; each chart has a description in words.

const SPACE = "http://www.w3.org/2000/svg";

export function node(name, attributes = {}, text) {
  const made = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// An SVG as wide as its box; decorative charts are hidden from screen readers.
function canvas(box, height, label) {
  const width = Math.max(box.clientWidth, 120);
  const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, height, focusable: "false" });
  if (label) {
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", label);
  } else svg.setAttribute("aria-hidden", "true");
  return { svg, width };
}

function number(value) {
  const size = Math.abs(value);
  if (size >= 1e4) return Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(value);
  return String(+value.toPrecision(3));
}

// Round numbers from 0 up to `most`: at most `count` steps.
function ticks(most, count) {
  const raw = most / count;
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * size).find((s) => s >= raw * 0.999);
  const found = [];
  for (let i = 0; i * step <= most * 1.0001; i++) found.push(i * step);
  return found;
}

function path(points) {
  return points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}

function line(points, family, best) {
  return node("path", { d: path(points), class: family === best ? "series best" : `series stroke-${family}` });
}

// The best noise is drawn last, on top of the others.
function layered(series, best) {
  return Object.keys(series).sort((a, b) => (a === best) - (b === best));
}

export function densities(box, data, best, within, label) {
  const height = box.clientHeight;
  const { svg, width } = canvas(box, height, label);
  const [left, right, top, bottom] = [8, width - 8, 10, height - 40];
  const most = data.x[data.x.length - 1];
  const high = Math.max(...Object.values(data.series).map((v) => v[0])) * 1.04;
  const x = (v) => left + ((v + most) / (2 * most)) * (right - left);
  const y = (v) => bottom - (v / high) * (bottom - top);
  const whole = (values) => {
    const half = values.map((v, i) => [data.x[i], v]);
    return [...half.slice(1).reverse().map(([a, v]) => [x(-a), y(v)]), ...half.map(([a, v]) => [x(a), y(v)])];
  };
  const shaded = whole(data.series[best]).filter(([at]) => at >= x(-within) && at <= x(within));
  if (shaded.length > 1) {
    const ends = [[shaded[0][0], bottom], ...shaded, [shaded[shaded.length - 1][0], bottom]];
    svg.append(node("path", { d: `${path(ends)}Z`, class: "area" }));
  }
  svg.append(node("line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "axis" }));
  for (const tick of ticks(most, width > 420 ? 4 : 2)) {
    for (const at of tick ? [-tick, tick] : [0]) {
      if (Math.abs(at) > most * 0.97) continue;
      svg.append(node("line", { x1: x(at), x2: x(at), y1: bottom, y2: bottom + 4, class: "axis" }));
      svg.append(node("text", { x: x(at), y: bottom + 17, "text-anchor": "middle" }, number(at).replace("-", "\u2212")));
    }
  }
  svg.append(node("text", { x: (left + right) / 2, y: height - 5, "text-anchor": "middle" }, "error added to a number"));
  for (const family of layered(data.series, best)) svg.append(line(whole(data.series[family]), family, best));
  box.replaceChildren(svg);
}

// A curve down to the bottom of the chart, and the point where it crosses the bottom.
function above(data, family) {
  const points = data.series[family].map((v, i) => [data.epsilon[i], v]);
  const below = points.findIndex(([, v]) => v < data.floor);
  if (below < 1) return points;
  const [[from, high], [to, low]] = [points[below - 1], points[below]];
  const share = low > 0 ? Math.log(high / data.floor) / Math.log(high / low) : 1;
  return [...points.slice(0, below), [from + share * (to - from), data.floor]];
}

export function curves(box, data, best, asked, label) {
  const height = box.clientHeight;
  const { svg, width } = canvas(box, height, label);
  const [left, right, top, bottom] = [46, width - 10, 24, height - 40];
  const most = data.epsilon[data.epsilon.length - 1];
  const floor = Math.log10(data.floor);
  const x = (v) => left + (v / most) * (right - left);
  const y = (v) => top + (Math.max(v > 0 ? Math.log10(v) : floor, floor) / floor) * (bottom - top);
  const decades = Math.ceil(-floor / 5);
  for (let power = 0; power >= floor; power -= decades) {
    svg.append(node("line", { x1: left, x2: right, y1: y(10 ** power), y2: y(10 ** power), class: "grid" }));
    svg.append(node("text", { x: left - 8, y: y(10 ** power) + 4, "text-anchor": "end" }, power > -3 ? String(10 ** power) : `1e${power}`));
  }
  svg.append(node("line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "axis" }));
  for (const tick of ticks(most, 4)) {
    svg.append(node("line", { x1: x(tick), x2: x(tick), y1: bottom, y2: bottom + 4, class: "axis" }));
    svg.append(node("text", { x: x(tick), y: bottom + 17, "text-anchor": "middle" }, number(tick)));
  }
  svg.append(node("text", { x: (left + right) / 2, y: height - 5, "text-anchor": "middle" }, "epsilon"));
  svg.append(node("text", { x: left - 8, y: 11, "text-anchor": "end" }, "delta"));
  for (const family of layered(data.series, best)) {
    svg.append(line(above(data, family).map(([at, v]) => [x(at), y(v)]), family, best));
  }
  svg.append(node("circle", { cx: x(asked.epsilon), cy: y(asked.delta), r: 7, class: "ring" }));
  svg.append(node("text", { x: x(asked.epsilon) + 13, y: Math.min(y(asked.delta) + 4, bottom - 6), class: "strong" }, "chosen"));
  box.replaceChildren(svg);
}

// A scale from 50 % to 100 %: the probability of a correct guess under this noise and under the guarantee alone.
export function gauge(box, odds, label) {
  const { svg, width } = canvas(box, 66, label);
  const x = (v) => 1 + ((v - 0.5) / 0.5) * (width - 2);
  svg.append(node("rect", { x: 1, y: 24, width: width - 2, height: 16, rx: 8, class: "track" }));
  svg.append(node("rect", { x: 1, y: 24, width: Math.max(x(odds.noise) - 1, 4), height: 16, rx: Math.min(8, Math.max(x(odds.noise) - 1, 4) / 2), class: "fill" }));
  const at = x(odds.promise);
  svg.append(node("line", { x1: at, x2: at, y1: 20, y2: 44, class: "mark" }));
  const anchor = (v) => (v > width - 70 ? "end" : v < 70 ? "start" : "middle");
  svg.append(node("text", { x: Math.min(Math.max(x(odds.noise), 1), width - 1), y: 15, "text-anchor": anchor(x(odds.noise)), class: "strong" }, odds.noise_text));
  svg.append(node("text", { x: 1, y: 61 }, "50 %, a guess"));
  svg.append(node("text", { x: width - 1, y: 61, "text-anchor": "end" }, "100 %, certain"));
  if (at > 150 && at < width - 160) svg.append(node("text", { x: at, y: 61, "text-anchor": "middle" }, `guarantee ${odds.promise_text}`));
  box.replaceChildren(svg);
}

// Small marks below the slider of epsilon; an arrow at its end if there are larger ones.
export function stops(box, marks, values) {
  const { svg, width } = canvas(box, 9);
  const thumb = 8;
  const most = values[values.length - 1];
  for (const { epsilon } of marks.filter((mark) => mark.epsilon <= most)) {
    const above = values.findIndex((value) => value >= epsilon);
    const share = above ? above - 1 + Math.log(epsilon / values[above - 1]) / Math.log(values[above] / values[above - 1]) : 0;
    const x = thumb + (share / (values.length - 1)) * (width - 2 * thumb);
    svg.append(node("line", { x1: x, x2: x, y1: 1, y2: 8, class: "mark" }));
  }
  if (marks.some((mark) => mark.epsilon > most)) svg.append(node("path", { d: `M${width - 7} 1L${width - 2} 4.5L${width - 7} 8Z`, class: "arrow" }));
  box.replaceChildren(svg);
}

// Published epsilons on a logarithmic scale, numbered as in the list, and the chosen one as a ring.
export function published(box, marks, chosen, label) {
  const { svg, width } = canvas(box, 78, label);
  const [low, high] = [0.05, 50].map(Math.log);
  const x = (v) => 8 + ((Math.log(v) - low) / (high - low)) * (width - 16);
  svg.append(node("line", { x1: 8, x2: width - 8, y1: 44, y2: 44, class: "axis" }));
  for (const tick of [0.1, 1, 10]) {
    svg.append(node("line", { x1: x(tick), x2: x(tick), y1: 44, y2: 49, class: "axis" }));
    svg.append(node("text", { x: x(tick), y: 63, "text-anchor": "middle" }, String(tick)));
  }
  marks.forEach((mark, i) => {
    const top = i % 2 ? 28 : 14; // two rows of numbers, because some marks are close together
    svg.append(node("line", { x1: x(mark.epsilon), x2: x(mark.epsilon), y1: top + 3, y2: 44, class: "mark" }));
    svg.append(node("text", { x: x(mark.epsilon), y: top, "text-anchor": "middle" }, String(i + 1)));
  });
  svg.append(node("circle", { cx: x(chosen), cy: 44, r: 7, class: "ring chosen" }));
  svg.append(node("text", { x: x(chosen), y: 76, "text-anchor": x(chosen) < 40 ? "start" : "middle", class: "strong" }, `chosen: ${number(chosen)}`));
  box.replaceChildren(svg);
}

export function bar(share, best) {
  const svg = node("svg", { viewBox: "0 0 100 14", preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" });
  svg.append(node("rect", { x: 0, y: 2, width: Math.max(100 * share, 0.6), height: 10, class: best ? "fill" : "other" }));
  return svg;
}

// The published value with its bar, and the true value as a line, on a square-root scale that all rows share.
export function whisker(row, error, range) {
  const svg = node("svg", { viewBox: "0 0 200 24", preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" });
  const bent = (v) => Math.sign(v) * Math.sqrt(Math.abs(v));
  const [low, high] = range.map(bent);
  const x = (v) => 4 + ((bent(v) - low) / (high - low)) * 192;
  const fixed = { "vector-effect": "non-scaling-stroke" };
  svg.append(node("line", { x1: x(row.noisy - error), x2: x(row.noisy + error), y1: 12, y2: 12, class: "whisker", ...fixed }));
  for (const end of [-error, error]) svg.append(node("line", { x1: x(row.noisy + end), x2: x(row.noisy + end), y1: 7, y2: 17, class: "whisker", ...fixed }));
  svg.append(node("line", { x1: x(row.true), x2: x(row.true), y1: 2, y2: 22, class: "truth", ...fixed }));
  svg.append(node("rect", { x: x(row.noisy) - 2, y: 7, width: 4, height: 10, class: "fill" }));
  return svg;
}

export function swatch(family, best) {
  const svg = node("svg", { viewBox: "0 0 26 8", "aria-hidden": "true", focusable: "false" });
  svg.append(node("line", { x1: 1, x2: 25, y1: 4, y2: 4, class: best ? "series best" : `series stroke-${family}` }));
  return svg;
}
