// The explorer: it sends the state of the sliders to the server and shows the answer. The address contains the whole state.

import { bar, curves, densities, gauge, published, stops, swatch, whisker } from "./chart.js";
import { noisy, note, read } from "./own.js";

const facts = JSON.parse(document.body.dataset.facts);
const sliders = Object.keys(facts.stops);
const at = (id) => document.getElementById(id);
const start = new URLSearchParams(facts.start);
const places = {};
let shown = [];
let direction = "any";
let answer = null;
let drawing = null;
let own = []; // the reader's own counts: only here

// ---- state ---------------------------------------------------------------------------------------------------

function nearest(stops, value) {
  const far = (stop) => Math.abs(Math.log(stop + 1e-12) - Math.log(value + 1e-12));
  return stops.reduce((best, stop, i) => (far(stop) < far(stops[best]) ? i : best), 0);
}

// Read the state from an address. A missing field gets its start value; a value that is not a stop is moved to the nearest stop, with a notice.
function restore(query) {
  const given = new URLSearchParams(query);
  const told = [];
  for (const name of sliders) {
    const text = given.get(name) ?? start.get(name) ?? "1";
    const value = Number(text);
    let place = facts.stops[name].indexOf(value);
    if (place < 0) {
      const usable = text.trim() !== "" && Number.isFinite(value) && value >= 0;
      place = usable ? nearest(facts.stops[name], value) : facts.stops[name].indexOf(Number(start.get(name) ?? 1));
      told.push(`${name} = ${text.slice(0, 20)} is not one of the slider's stops; ${facts.labels[name][place]} is shown instead.`);
    }
    places[name] = place;
  }
  direction = given.get("direction") === "one" ? "one" : "any";
  if (several() && places.groups + places.releases > 0) told.push("Several numbers are shown for one group and one release.");
  alone();
  const names = (given.get("show") ?? start.get("show")).split(",").filter((name) => name);
  shown = facts.families.filter((name) => names.includes(name));
  const strange = names.filter((name) => !facts.families.includes(name));
  if (strange.length) told.push(`There is no noise called ${strange[0].slice(0, 20)}.`);
  notice(told.join(" "));
}

// May one person change several numbers at once?
const several = () => places.numbers > 0;

// Several numbers are shown for one group and one release only.
function alone() {
  if (several()) places.groups = places.releases = 0;
}

function query() {
  const spelled = (name) => `${name}=${plain(facts.stops[name][places[name]])}`;
  const fields = sliders.filter((name) => name !== "numbers").map(spelled);
  if (several()) fields.push(spelled("numbers"), `direction=${direction}`);
  return [...fields, `show=${shown.join(",")}`].join("&");
}

// Numbers as Python's %g writes them, so that both sides spell a link alike.
function plain(value) {
  const text = String(value);
  if (value === 0 || value >= 1e-4) return text;
  return value.toExponential().replace(/e-(\d)$/, "e-0$1");
}

// ---- asking --------------------------------------------------------------------------------------------------

let asking = false;
let asked = "";
let since = 0;

// Send one request at a time; changes in the meantime become one request after the answer.
async function update() {
  since = since || performance.now();
  if (asking) return;
  asking = true;
  await null; // several changes at once become one request
  try {
    while (asked !== query()) {
      asked = query();
      const found = await ask("/answer", asked);
      const wanted = found && asked === query();
      const table = wanted ? ask("/draw", asked) : null; // requested while the rest is painted
      if (found) show(found);
      remember(asked);
      const painted = table && showTable(asked, await table);
      if (painted && several()) showDistance(asked, await ask("/limit", asked));
      if (painted && asked === query()) settled(asked);
    }
  } finally {
    asking = false;
  }
}

// Write the state into the address, once for every answer: browsers block pages that do this too often.
function remember(text) {
  try {
    if (location.search !== `?${text}`) history.replaceState(null, "", `?${text}`);
  } catch {
    // the address is then out of date; "Copy link" is not
  }
}

async function ask(path, text) {
  try {
    const response = await fetch(`${path}?${text}`);
    const found = await response.json();
    if (response.ok) return found;
    notice(found.error);
  } catch {
    notice("The explorer has stopped; start it again with hush explore.");
  }
  return null;
}

// Returns whether the table belongs to the present state.
function showTable(wanted, found) {
  if (!found || wanted !== query()) return false;
  drawing = found;
  showWards();
  return true;
}

// The limit of all noises, which takes longer than the ranking.
function showDistance(wanted, found) {
  if (!found || wanted !== query()) return;
  answer.limit = found.limit;
  for (const row of answer.ranking) if (row.texts) row.texts.to_limit = found.to_limit[row.family];
  showRanking();
}

// After the next frame is painted, record what is shown and how long it took.
function settled(wanted) {
  const begun = since;
  since = 0;
  requestAnimationFrame(() => {
    setTimeout(() => {
      document.body.dataset.drawn = wanted;
      document.body.dataset.milliseconds = (performance.now() - begun).toFixed(1);
    });
  });
}

// ---- showing -------------------------------------------------------------------------------------------------

function element(name, text, kind) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function notice(text) {
  at("notice").textContent = text;
  at("notice").hidden = !text;
}

function showSliders() {
  for (const name of sliders) {
    const label = facts.labels[name][places[name]];
    at(name).max = facts.stops[name].length - 1;
    at(name).value = places[name];
    at(name).setAttribute("aria-valuetext", facts.spoken[name]?.[places[name]] ?? label);
    at(`${name}-shown`).textContent = label;
  }
  at("groups").disabled = at("releases").disabled = several();
  at("directions").hidden = at("alone").hidden = !several();
  for (const box of directions()) box.checked = box.value === direction;
}

function directions() {
  return document.querySelectorAll("#directions input");
}

function show(found) {
  answer = found;
  showSentence();
  showFamilies();
  showPictures();
  showRanking();
  showCrowds();
  at("python").textContent = answer.python;
  at("command").textContent = answer.command;
}

function showSentence() {
  const { headline, odds, best } = answer;
  const parts = ["The least noise for this guarantee is ", [best.family], ` noise. The error of ${headline.where} is at most `, [headline.half]];
  parts.push(` half of the time, and 95\u00a0% of the time at most ${headline.mostly}. The probability of a correct guess whether you are in the data goes from 50\u00a0% to `);
  parts.push([`at most ${odds.noise_text}`], ".");
  at("sentence").replaceChildren(...parts.map((part) => (Array.isArray(part) ? element("strong", part[0]) : part)));
  at("odds-note").textContent = [odds.note, headline.tie, headline.skipped].filter((text) => text).join(" ");
  at("brief").textContent = `error ± ${headline.mostly} · correct guesses at most ${odds.noise_text}`;
}

// The chips keep their places; only their state changes.
function showFamilies() {
  if (!at("families").children.length) at("families").append(...facts.families.map(chip));
  for (const made of at("families").children) {
    const box = made.querySelector("input");
    const best = box.name === answer.best.family;
    const absent = !answer.ranking.some((row) => row.family === box.name && !row.reason);
    made.hidden = !answer.ranking.some((row) => row.family === box.name) || (several() && absent);
    made.className = `chip${best ? " best" : absent ? " off" : ""}`;
    const state = best ? "The least noise, always drawn. " : absent ? "Not possible under this guarantee. " : "";
    made.title = `${state}${facts.about[box.name]}`;
    box.checked = best || (shown.includes(box.name) && !absent);
    box.disabled = best || absent;
    made.replaceChild(swatch(box.name, best), made.querySelector("svg"));
  }
}

function chip(family) {
  const made = element("label", undefined, "chip");
  const box = element("input");
  box.type = "checkbox";
  box.name = family;
  box.addEventListener("change", () => {
    shown = facts.families.filter((name) => (name === family ? box.checked : shown.includes(name)));
    update();
  });
  made.append(box, swatch(family, false), family);
  return made;
}

function showPictures() {
  const { best, densities: falls, curves: gives, ranking, odds } = answer;
  const drawn = ranking.filter((row) => row.family in falls.series);
  const spreads = drawn.map((row) => `${row.family} within ${row.texts.error95}`).join(", ");
  densities(at("density"), falls, best.family, drawn[0].error95, `Densities of the noise, 95 % of the time: ${spreads}.`);
  const point = { epsilon: facts.stops.epsilon[places.epsilon], delta: facts.stops.delta[places.delta] };
  const names = drawn.map((row) => `${row.family} gives delta ${row.delta === 0 ? "0" : row.delta.toPrecision(3)}`).join(", ");
  curves(at("curve"), gives, best.family, point, `Privacy curves. At epsilon ${point.epsilon}, ${names}; the chosen delta is ${point.delta}.`);
  stops(at("epsilon-marks"), facts.published, facts.stops.epsilon);
  const marks = facts.published.map((mark) => `${mark.text} by ${mark.who}`).join(", ");
  published(at("published"), facts.published, point.epsilon, `Published epsilons on a scale from 0.05 to 50: ${marks}. The chosen epsilon is ${point.epsilon}.`);
  gauge(at("gauge"), odds, `A scale from 50 % to 100 %: this noise allows ${odds.noise_text}, the guarantee alone ${odds.promise_text}.`);
}

function showRanking() {
  const present = answer.ranking.filter((row) => !row.reason);
  const absent = answer.ranking.filter((row) => row.reason);
  const most = Math.max(...present.map((row) => row.standard_error));
  const limited = present.some((row) => row.texts.to_limit);
  at("limit-head").hidden = !limited;
  const rows = present.map((row) => {
    const best = row.family === answer.best.family;
    const line = element("tr", undefined, best ? "best" : "");
    const name = element("td", row.family);
    name.title = facts.about[row.family];
    name.append(element("span", row.noise, "sub"));
    const size = element("td", undefined, "bars");
    const beside = element("div", undefined, "bar");
    beside.append(bar(row.standard_error / most, best), element("span", row.texts.standard_error));
    size.append(beside);
    const cells = [["95\u00a0% within ±", "error95"], [several() ? "variance per number" : "variance", "variance"], ["above the least:", "ratio"], [several() ? "above the bound:" : "above the limit:", "to_limit"]];
    const numbers = cells.slice(0, limited ? 4 : 3).map(([label, key]) => {
      const cell = element("td", row.texts[key], "number");
      cell.dataset.label = label;
      return cell;
    });
    line.append(name, size, ...numbers);
    line.setAttribute("role", "row");
    for (const cell of line.children) cell.setAttribute("role", "cell");
    return line;
  });
  at("ranking").replaceChildren(...rows);
  at("limit-head").textContent = several() ? "Above the bound" : "Above the limit";
  at("variance-head").textContent = several() ? "Variance per number" : "Variance";
  at("limit").textContent = answer.limit;
  at("why").textContent = answer.why;
  at("why").hidden = !answer.why;
  at("about").replaceChildren(...present.map((row) => element("li", `${row.family}: ${facts.about[row.family]}`)));
  const skipped = absent.some((row) => row.reason.startsWith("not compared")) ? ", or not compared" : "";
  at("absent-title").textContent = `${absent.length} ${absent.length === 1 ? "noise is" : "noises are"} not possible under this guarantee${skipped}`;
  at("absent").replaceChildren(...absent.map((row) => element("li", `${row.family}: ${row.reason}.`)));
}

function showCrowds() {
  at("crowd-note").textContent = answer.crowd_note;
  const items = answer.crowds.map((crowd) => {
    const item = element("li");
    item.append(element("b", `± ${crowd.share_text}`), element("span", crowd.text));
    return item;
  });
  at("crowds").replaceChildren(...items);
}

function showWards() {
  const most = drawing.own.errors.length; // fewer if one person changes fewer numbers at once
  const mine = own.length ? noisy(own.slice(0, most), drawing.own) : null;
  if (own.length) problem(own.length > most ? `The slider Numbers per person is at ${most}: the first ${most} of your counts are shown.` : "");
  const rows = mine ?? drawing.rows;
  const reach = mine ? drawing.own.bar : drawing.bar;
  at("wards-note").textContent = mine ? note(mine, drawing.own) : drawing.note;
  at("wards-head").textContent = mine ? "Your count" : "Ward";
  at("wards-caption").textContent = `${mine ? "Your counts" : "A made-up table of counts"}: true values and values with noise`;
  const ends = [Math.min(0, ...rows.map((row) => row.noisy - reach)), Math.max(...rows.map((row) => Math.max(row.noisy + reach, row.true)))];
  const whole = new Intl.NumberFormat("en");
  const lines = rows.map((row) => {
    const line = element("tr");
    const head = element("td", row.ward);
    const picture = element("td", undefined, "picture");
    picture.append(whisker(row, reach, ends));
    line.append(head, element("td", whole.format(row.true), "number"), element("td", whole.format(row.noisy).replace("-", "\u2212"), "number"), picture);
    return line;
  });
  at("wards").replaceChildren(...lines);
}

// The page does not send what is typed; it adds the noise that it already has.
function typed() {
  const found = read(at("own").value, facts.own);
  problem(found.problem ?? "");
  own = found.rows ?? [];
  if (drawing) showWards();
}

function problem(text) {
  at("own-problem").textContent = text;
  at("own-problem").hidden = !text;
}

function showPublished() {
  const items = facts.published.map((mark) => {
    const item = element("li");
    const budget = mark.delta ? `epsilon ${mark.text}, delta ${mark.delta_text}` : `epsilon ${mark.text}`;
    item.append(element("strong", `${mark.who}, ${budget}`), `: ${mark.what}. Protects ${mark.protects}. `, element("cite", `${mark.source}.`));
    return item;
  });
  at("published-list").replaceChildren(...items);
}

// ---- buttons -------------------------------------------------------------------------------------------------

async function copy(button, text, what) {
  let done = false;
  try {
    await navigator.clipboard.writeText(text);
    done = true;
  } catch {
    const box = element("textarea", text, "hidden"); // for browsers that do not allow pages to use the clipboard
    document.body.append(box);
    box.select();
    done = document.execCommand("copy");
    box.remove();
    button.focus();
  }
  say(done ? `${what} copied.` : `${what} could not be copied; select the text and copy it.`);
  const before = button.dataset.name ?? (button.dataset.name = button.textContent);
  button.textContent = done ? "Copied" : "Not copied";
  setTimeout(() => (button.textContent = before), 1600);
}

function say(text) {
  at("status").textContent = "";
  setTimeout(() => (at("status").textContent = text), 30);
}

function themed(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  at("theme").textContent = dark ? "Light colours" : "Dark colours";
}

function begin() {
  restore(location.search);
  at("ranking-fold").open = innerWidth > 600; // the ranking is long on a phone
  showSliders();
  for (const name of sliders) {
    at(name).addEventListener("input", () => {
      places[name] = Number(at(name).value);
      alone();
      notice("");
      showSliders();
      update();
    });
  }
  for (const box of directions()) {
    box.addEventListener("change", () => {
      direction = box.value;
      notice("");
      update();
    });
  }
  showPublished();
  at("own").addEventListener("input", typed);
  document.forms[0].addEventListener("submit", (event) => event.preventDefault());
  at("reset").addEventListener("click", () => {
    restore("");
    showSliders();
    update();
  });
  at("again").addEventListener("click", async () => {
    const wanted = query();
    since = performance.now();
    if (showTable(wanted, await ask("/draw", wanted))) settled(wanted);
    say("New noise was drawn.");
  });
  at("link").addEventListener("click", () => copy(at("link"), `${location.origin}/?${query()}`, "The link is"));
  at("copy-python").addEventListener("click", () => copy(at("copy-python"), answer.python, "The Python lines are"));
  at("copy-command").addEventListener("click", () => copy(at("copy-command"), answer.command, "The command is"));
  const night = matchMedia("(prefers-color-scheme: dark)");
  at("theme").textContent = night.matches ? "Light colours" : "Dark colours";
  at("theme").addEventListener("click", () => themed(at("theme").textContent.startsWith("Dark")));
  addEventListener("popstate", () => {
    restore(location.search);
    showSliders();
    update();
  });
  new ResizeObserver(() => answer && showPictures()).observe(at("findings"));
  update();
}

begin();
