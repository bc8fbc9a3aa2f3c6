// The reader's own counts. They stay in this page: they are in no request, in no storage and not in the address.

// One count on each line, with an optional name before it. Returns the rows, or a sentence that says what is wrong.
export function read(text, most) {
  const lines = text.split("\n").map((line) => line.trim());
  const rows = [];
  for (const [place, line] of lines.entries()) {
    if (!line) continue;
    const found = line.match(/^(.*?)[\s:;,=]*(?<![\d.\u2212-])(\d{1,3}(?:,\d{3})+|\d+)$/);
    const count = found ? Number(found[2].replaceAll(",", "")) : NaN;
    if (!(count <= 1e9)) return wrong(place, "must end with a whole number from 0 to 1,000,000,000, such as Burns 27");
    const name = found[1].trim();
    if (name && !/\p{Letter}/u.test(name)) return wrong(place, "has several numbers; write one count on each line");
    rows.push({ ward: name.slice(0, 40) || `Count ${rows.length + 1}`, true: count });
  }
  if (rows.length > most) return { problem: `There are ${rows.length} counts; the page shows at most ${most} here.` };
  return { rows };
}

function wrong(place, reason) {
  return { problem: `Line ${place + 1} ${reason}.` };
}

// The counts with the noise that the server drew: each count is placed on the lattice of the noise, as a release does.
export function noisy(rows, { step, errors }) {
  const placed = (count) => Math.floor(count / step + 0.5) * step;
  return rows.map((row, i) => ({ ...row, noisy: Math.round(placed(row.true) + errors[i]) }));
}

// What the error means for these counts.
export function note(rows, { bar, bar_text: text }) {
  const hidden = rows.filter((row) => bar > row.true / 10).length;
  const many = rows.length === 1 ? "Your count" : `Your ${rows.length} counts`;
  const which = hidden === 0 ? "none of them" : hidden === rows.length ? "all of them" : `${hidden} of them`;
  const share = rows.length === 1 ? `${hidden ? "more" : "not more"} than a tenth of your count` : `more than a tenth of the count for ${which}`;
  return `${many} with noise drawn just now. Each error is at most ${text} with probability 95\u00a0%, rounding included: this is ${share}. All bars share one square-root scale.`;
}
