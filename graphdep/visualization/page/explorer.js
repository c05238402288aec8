"use strict";
// The page of one example. Texts are untrusted: they only go into textContent and values of attributes.
const page = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const size = page.nodes.length, twoSides = page.sides.length === 2, DIFFERENCE = 2;
const state = { side: 0, view: "words", map: 0, head: -1, word: null, top: 0, least: 0, find: "",
  from: 0, span: 0, cell: null };

// -- helpers --------------------------------------------------------------------------------------------

function add(parent, tag, text, className) {
  const node = parent.appendChild(document.createElement(tag));
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
}

function choices(select, items, chosen) {
  select.textContent = "";
  items.forEach(([value, text]) => { add(select, "option", text).value = value; });
  select.value = String(chosen);
  if (select.selectedIndex < 0) select.selectedIndex = 0;
}

const digits = (value, places = 3) => (Math.abs(value) < 0.5 * 10 ** -places ? 0 : value).toFixed(places).replace("-", "\u2212");
const signed = (value, places = 3) => (isDifference() && value > 0.5 * 10 ** -places ? "+" : "") + digits(value, places);
const isDifference = () => state.side === DIFFERENCE;
const mainSide = () => page.sides[isDifference() ? 0 : state.side];
// Heads of separately trained models do not correspond: their means are compared.
const meansOnly = () => isDifference() && !page.one_model;
const headShown = () => (meansOnly() ? -1 : state.head);
const theme = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function bytes(text) { return Uint8Array.from(atob(text), (char) => char.charCodeAt(0)); }

function numbers(text) {  // little-endian 16-bit numbers, on any machine
  const raw = bytes(text), found = new Uint16Array(raw.length / 2);
  for (let i = 0; i < found.length; i += 1) found[i] = raw[2 * i] | (raw[2 * i + 1] << 8);
  return found;
}

// -- unpacking ------------------------------------------------------------------------------------------

const kept = new Map();  // unpacked data by packed data

function once(key, make) {
  if (!kept.has(key)) kept.set(key, make());
  return kept.get(key);
}

function pairMask(packed, count) {  // a byte for each target and source
  return once(packed, () => {
    const mask = new Uint8Array(count * count);
    if (packed.form === "bits") {
      const raw = bytes(packed.data);
      for (let i = 0; i < mask.length; i += 1) mask[i] = (raw[i >> 3] >> (i & 7)) & 1;
    } else {
      const ends = numbers(packed.data);
      for (let i = 0; i < ends.length; i += 2) mask[ends[i] * count + ends[i + 1]] = 1;
    }
    return mask;
  });
}

const setMask = (set) => once(set, () => {
  const mask = new Uint8Array(size * size);
  set.made.forEach((packed) => pairMask(packed, size).forEach((yes, i) => { if (yes) mask[i] = 1; }));
  return mask;
});

const dense = [];  // the heads unpacked last

function headWeights(packed, allowed, count, head) {
  const known = dense.find((item) => item.packed === packed && item.head === head);
  if (known) return known.weights;
  const weights = new Float32Array(count * count);
  if (head < 0) {
    for (let one = 0; one < packed.heads; one += 1) fill(weights, packed, allowed, count, one, 1 / packed.heads);
  } else fill(weights, packed, allowed, count, head, 1);
  dense.push({ packed, head, weights });
  if (dense.length > 8) dense.shift();
  return weights;
}

function fill(weights, packed, allowed, count, head, factor) {
  if (packed.top === 0) {
    const values = once(packed.values + "v", () => numbers(packed.values)), mask = pairMask(allowed, count);
    let next = head * allowed.count;
    for (let i = 0; i < mask.length; i += 1) if (mask[i]) weights[i] += factor * (packed.low + packed.scale * values[next++] / 65535);
    return;
  }
  const values = once(packed.values + "v", () => bytes(packed.values)), columns = once(packed.columns + "c", () => numbers(packed.columns));
  let next = head * count * packed.top;
  for (let row = 0; row < count; row += 1) {
    for (let k = 0; k < packed.top; k += 1, next += 1) weights[row * count + columns[next]] += factor * (packed.low + packed.scale * values[next] / 255);
  }
}

// What the matrix shows: nodes, weights by target and source, which pairs are edges, and the number of weights
// per row if only some are in the page.
function shown() {
  const nodes = state.view === "pieces" ? page.pieces : page.nodes;
  if (isDifference()) {
    const [first, second] = page.sides.map((side, place) => oneSide(side, place));
    const weights = first.weights.map((value, i) => value - second.weights[i]);
    const edge = first.edge.map((yes, i) => yes | second.edge[i]);
    return { nodes, weights, edge, least: -1, partial: first.partial || second.partial };
  }
  return { nodes, ...oneSide(mainSide(), state.side) };
}

function oneSide(side, place) {
  const count = state.view === "pieces" ? page.pieces.length : size;
  if (state.map < 0) {
    const edge = setMask(side.edges[Math.min(side.edges.length - 1, -1 - state.map)]);
    return { weights: Float32Array.from(edge), edge, partial: false };
  }
  const map = matching(side, place), packed = map[state.view];
  const allowed = side.pairs[state.view === "pieces" ? map.allowed_pieces : map.allowed];
  const weights = headWeights(packed, allowed, count, Math.min(headShown(), packed.heads - 1));
  return { weights, edge: hatchMask(side, allowed, count), partial: packed.top > 0 && packed.top };
}

function matching(side, place) {  // the same layer of the other model, else its last one
  const first = mainSide().maps[state.map];
  if (!isDifference() || place === 0) return side.maps[state.map];
  const alike = side.maps.filter((map) => map.kind === first.kind);
  const number = page.sides[0].maps.filter((map) => map.kind === first.kind).indexOf(first);
  return alike[Math.min(number, alike.length - 1)] || side.maps[side.maps.length - 1];
}

function hatchMask(side, allowed, count) {
  const chosen = Number(byId("hatch").value || -1);
  if (chosen < 0 || !side.edges[chosen]) return pairMask(allowed, count);
  const words = setMask(side.edges[chosen]);
  if (state.view === "words") return words;
  return once(side.edges[chosen].name + side.name, () => {
    const mask = new Uint8Array(count * count);
    page.pieces.forEach((to, i) => page.pieces.forEach((from, j) => { mask[i * count + j] = words[to.word * size + from.word]; }));
    return mask;
  });
}

// -- provenance -----------------------------------------------------------------------------------------

const nameOf = (node) => page.nodes[node].text;

function above(side, node) {
  const path = [node], arc = side.arc_nodes.indexOf(node);
  let next = arc >= 0 ? side.arcs[arc][1] : node;  // a relation node is above its dependent
  if (arc >= 0) path.push(next);
  while (side.governor[next] >= 0 && path.length <= size) { next = side.governor[next]; path.push(next); }
  return path;
}

// The path in the tree from the word that attends to the other word.
function pathText(side, source, target) {
  const up = above(side, target), down = above(side, source), meet = up.findIndex((node) => down.includes(node));
  if (source === target || meet < 0) return "";
  let text = nameOf(up[0]);
  const step = (node) => (page.nodes[node].kind === "RELATION" ? "arc" : side.relation[node]);
  for (let i = 1; i <= meet; i += 1) text += " \u2190" + step(up[i - 1]) + "\u2013 " + nameOf(up[i]);
  for (let i = down.indexOf(up[meet]) - 1; i >= 0; i -= 1) text += " \u2013" + step(down[i]) + "\u2192 " + nameOf(down[i]);
  return text;
}

// Whether both sides have the same edges for the same reasons.
const isShared = (set) => twoSides && once(set.name + "=", () => {
  const [mine, other] = page.sides.map((side) => side.edges.find((one) => one.name === set.name));
  return Boolean(mine && other) && JSON.stringify([mine.made, mine.typed]) === JSON.stringify([other.made, other.typed])
    && JSON.stringify(page.sides[0].arcs) === JSON.stringify(page.sides[1].arcs);
});
const setName = (set, side) => (!isDifference() || set.name === side.name || isShared(set) ? set.name : `${set.name} (${side.name})`);
// The shown sets with their number and side; sets that both sides share only once.
const listedSets = () => (isDifference() ? page.sides : [mainSide()]).flatMap((side, place) =>
  side.edges.map((set, number) => [set, number, side]).filter(([set]) => place === 0 || !isShared(set)));
const partName = (text) => text.replace(/\(.*/s, "");

function madeBy(side, set, source, target) {
  const place = target * size + source;
  const made = set.parts.filter((_, part) => pairMask(set.made[part], size)[place]);
  const parts = made.map(([name, why]) => why + " (" + partName(name) + ")").join("; ");
  const type = set.typed.find(([s, t]) => s === source && t === target);
  return [parts, type ? "typed " + set.types[type[2]] : ""].filter(Boolean);
}

function wayText(side, source, target) {
  const way = pathText(side, source, target);
  return way ? ["in the tree: " + way] : [];
}

const reason = (side, set, source, target) => [...madeBy(side, set, source, target), ...wayText(side, source, target)];

// The reasons of each set, and the path in the tree, for each side if they differ.
function whyLines(source, target) {
  const found = setsOf(source, target), sides = [...new Set(found.map(([, , side]) => side))];
  const lines = found.map(([set, , side]) => setName(set, side) + ": " + madeBy(side, set, source, target).join(", "));
  const ways = sides.flatMap((side) => wayText(side, source, target));
  return [...lines, ...new Set(ways)];
}

function setsOf(source, target) {  // [set, number, side] of each set with an edge between two words
  return listedSets().filter(([set]) => setMask(set)[target * size + source]);
}

function edgeText(source, target) {
  const lines = source === target ? [nameOf(target) + " attends to itself"] : [nameOf(target) + " attends to " + nameOf(source)];
  return [...lines, ...whyLines(source, target)].join("\n");
}

function arcText(governor, dependent) {
  const sides = isDifference() ? page.sides : [mainSide()];
  return sides.flatMap((side) => side.arcs.filter(([g, d]) => g === governor && d === dependent).map(([, , label]) =>
    nameOf(dependent) + " is the " + label + " of " + nameOf(governor) + (isDifference() ? " (" + side.name + ")" : ""))).join("\n");
}

// -- the sentence ---------------------------------------------------------------------------------------

const drawing = () => document.querySelector(`.drawing[data-side="${state.side}"]`);
const firstLanes = () => [...(drawing().querySelector(".scroll") || drawing()).querySelectorAll(".lane")];

function showDrawings() {
  document.querySelectorAll(".drawing").forEach((box) => { box.hidden = Number(box.dataset.side) !== state.side; });
  const sets = byId("sets");
  sets.textContent = "";
  firstLanes().forEach((first) => {
    const number = Number(first.dataset.lane), chip = add(sets, "button", undefined, "c" + first.dataset.colour);
    chip.type = "button";
    add(chip, "i");
    add(chip, "span", first.dataset.name);
    const all = () => drawing().querySelectorAll(`.lane[data-lane="${number}"]`);
    all().forEach((lane) => { lane.hidden = false; });
    chip.setAttribute("aria-pressed", "true");
    chip.addEventListener("click", () => {
      const shown = chip.getAttribute("aria-pressed") !== "true";
      chip.setAttribute("aria-pressed", String(shown));
      all().forEach((lane) => { lane.hidden = !shown; });
    });
  });
  document.querySelectorAll(".drawing svg").forEach(prepare);
}

function prepare(svg) {
  if (svg.dataset.ready) return;
  svg.dataset.ready = "1";
  svg.setAttribute("role", "group");
  svg.querySelectorAll("text[data-n]").forEach((word) => {
    word.setAttribute("tabindex", "-1");
    word.setAttribute("role", "button");
    word.setAttribute("aria-label", wordLabel(Number(word.dataset.n)));
  });
  const first = svg.querySelector("text.gd-word");
  if (first && svg.parentNode.className === "tree") first.setAttribute("tabindex", "0");
  svg.addEventListener("pointerenter", () => {  // wide invisible lines, since thin ones are hard to hit
    svg.querySelectorAll('path[data-s][fill="none"], path[data-g][fill="none"]').forEach((path) => {
      const wide = path.cloneNode();
      wide.setAttribute("class", "hit");
      svg.appendChild(wide);
    });
    svg.querySelectorAll("text[data-n]").forEach((word) => svg.appendChild(word));
  }, { once: true });
}

// The label and words of a phrase node.
function phraseText(side, node) {
  const place = side.bracket_nodes.indexOf(node);
  if (place < 0) return "";
  const [first, last, label] = side.brackets[place];
  const words = page.nodes.slice(first, last + 1).filter((one) => one.kind === "WORD").map((one) => one.text);
  return label + ", the phrase \u201c" + words.join(" ") + "\u201d";
}

function wordLabel(node) {
  const side = mainSide(), governor = side.governor[node], phrase = phraseText(side, node);
  if (phrase) return phrase;
  return nameOf(node) + (governor >= 0 ? ", " + side.relation[node] + " of " + nameOf(governor) : "");
}

function highlight(svg, wanted) {
  svg.classList.toggle("asked", Boolean(wanted));
  svg.querySelectorAll(".on").forEach((item) => item.classList.remove("on"));
  if (wanted) svg.querySelectorAll("[data-s], [data-g]").forEach((item) => { if (wanted(item.dataset)) item.classList.add("on"); });
}

function touches(node) {
  const own = String(node), side = mainSide(), arc = side.arcs[side.arc_nodes.indexOf(node)], bracket = side.brackets[side.bracket_nodes.indexOf(node)];
  if (arc) return (names) => Number(names.g) === arc[0] && Number(names.d) === arc[1];  // the arc that it is
  const within = (number) => Number(number) >= bracket[0] && Number(number) <= bracket[1];
  if (bracket) return (names) => (names.s ? within(names.s) && within(names.t) : within(names.g) && within(names.d));
  return (names) => names.s === own || names.t === own || names.g === own || names.d === own;
}

function resetHighlight() {
  drawing().querySelectorAll("svg").forEach((svg) => highlight(svg, state.word === null ? null : touches(state.word)));
}

function pointed(event) {
  const item = event.target.closest("[data-s], [data-g], [data-n]");
  if (!item) { hideTip(); resetHighlight(); return; }
  const names = item.dataset;
  if (names.n !== undefined) {
    drawing().querySelectorAll("svg").forEach((svg) => highlight(svg, touches(Number(names.n))));
    tip(event, wordLabel(Number(names.n)));
    return;
  }
  const same = names.s !== undefined ? (other) => other.s === names.s && other.t === names.t : (other) => other.g === names.g && other.d === names.d;
  highlight(item.ownerSVGElement, same);
  const text = names.s !== undefined ? edgeText(Number(names.s), Number(names.t)) : arcText(Number(names.g), Number(names.d));
  byId("announcement").textContent = text.replace(/\n */g, " \u00b7 ");
  tip(event, text);
}

function tip(event, text) {
  const box = byId("tip");
  box.textContent = text;
  box.hidden = false;
  const right = Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8);
  const low = event.clientY + 18 + box.offsetHeight > innerHeight ? event.clientY - box.offsetHeight - 12 : event.clientY + 18;
  box.style.left = Math.max(4, right) + "px";
  box.style.top = Math.max(4, low) + "px";
}

function hideTip() { byId("tip").hidden = true; }

function choose(node, focus) {
  state.word = node;
  document.querySelectorAll("text.chosen").forEach((word) => word.classList.remove("chosen"));
  if (node !== null) {
    drawing().querySelectorAll(`text[data-n="${node}"]`).forEach((word) => {
      word.classList.add("chosen");
      const turn = word.closest("details");
      if (turn) turn.open = true;
      if (focus && word.closest(".tree")) {
        drawing().querySelectorAll('text[tabindex="0"]').forEach((other) => other.setAttribute("tabindex", "-1"));
        word.setAttribute("tabindex", "0");
        word.focus();
      }
    });
  }
  resetHighlight();
  shadeWords();
  showWord();
  drawMatrix();
}

// Shades the words by the attention of the chosen word.
function shadeWords() {
  document.querySelectorAll(".shade, .ring").forEach((box) => box.remove());
  if (state.word === null || !page.sides[0].maps.length || state.map < 0) return;
  const weights = wordWeights(state.word), most = Math.max(...weights.map(Math.abs), 1e-9);
  drawing().querySelectorAll(".tree text[data-n]").forEach((word) => {
    const node = Number(word.dataset.n), value = weights[node];
    if (!word.getClientRects().length) return;
    const box = word.getBBox(), rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    const place = { x: box.x - 4, y: box.y - 1, width: box.width + 8, height: box.height + 2, rx: 5 };
    Object.entries(place).forEach(([name, number]) => rect.setAttribute(name, number));
    rect.setAttribute("class", value < 0 ? "shade minus" : "shade");
    rect.setAttribute("opacity", (0.45 * Math.abs(value) / most).toFixed(3));
    word.ownerSVGElement.prepend(rect);
    if (node === state.word) {
      const ring = rect.cloneNode();
      ring.setAttribute("class", "ring");
      ring.setAttribute("opacity", "1");
      word.ownerSVGElement.prepend(ring);
    }
  });
}

function wordWeights(node) {
  const view = state.view;
  state.view = "words";
  const found = [...shown().weights.slice(node * size, (node + 1) * size)];
  state.view = view;
  return found;
}

function showWord() {
  const facts = byId("word-facts"), node = state.word;
  facts.textContent = "";
  byId("word-title").textContent = node === null ? "No word chosen" : nameOf(node);
  if (node === null) {
    add(facts, "p", "Choose a word in the sentence to see its edges and their reasons.", "hint");
    return;
  }
  const side = mainSide(), governor = side.governor[node];
  const kind = phraseText(side, node) || page.nodes[node].kind.toLowerCase();
  add(facts, "p", governor >= 0 ? side.relation[node] + " of " + nameOf(governor) : kind, "hint");
  if (page.sides[0].maps.length && state.map >= 0) attendedList(facts, node);
  listedSets().forEach(([set, number, one]) => edgeList(facts, one, set, number, node));
}

function attendedList(facts, node) {
  const weights = wordWeights(node), order = [...weights.keys()].sort((a, b) => Math.abs(weights[b]) - Math.abs(weights[a]));
  const map = mainSide().maps[state.map], mask = map.kind === "mask", what = mask ? "The answer depends " : "Attends ";
  if (map.kind === "gate") add(facts, "h3", "Largest " + map.name + " with");
  else add(facts, "h3", what + (isDifference() ? "more or less " : "most ") + (mask ? "on its edges to" : "to"));
  const box = add(facts, "div", undefined, "answer"), most = Math.abs(weights[order[0]]) || 1;
  order.slice(0, 5).filter((other) => weights[other] !== 0).forEach((other) => meterRow(box, nameOf(other), weights[other], most, signed(weights[other])));
}

function meterRow(parent, text, value, most, number) {
  const row = add(parent, "div", undefined, "row");
  add(row, "span", text).dir = "auto";
  add(row, "span", number, "num");
  const box = add(row, "div", undefined, "meter-box"), bar = add(box, "span", undefined, value < 0 ? "meter minus" : "meter");
  bar.style.width = Math.max(0, Math.min(100, 100 * Math.abs(value) / most)).toFixed(1) + "%";
  return row;
}

function edgeList(facts, side, set, number, node) {
  const mask = setMask(set), sources = [], targets = [];
  for (let other = 0; other < size; other += 1) {
    if (mask[node * size + other]) sources.push(other);
    if (other !== node && mask[other * size + node]) targets.push(other);
  }
  const title = add(facts, "h3", undefined, "c" + (isDifference() ? (isShared(set) ? 2 : page.sides.indexOf(side)) : number % 6));
  add(title, "span", setName(set, side), "set-name");
  const list = add(facts, "ul"), most = 40;
  sources.slice(0, most).forEach((other) => edgeItem(list, "attends to ", other, reason(side, set, other, node)));
  targets.slice(0, most).forEach((other) => edgeItem(list, "is seen by ", other, reason(side, set, node, other)));
  const left = sources.length + targets.length - list.children.length;
  if (!sources.length && !targets.length) add(list, "li", "no edge");
  if (left > 0) add(list, "li", "and " + left + " more");
}

function edgeItem(list, how, other, why) {
  const item = add(list, "li", how), link = add(item, "button", nameOf(other));
  link.type = "button";
  link.addEventListener("click", () => choose(other, true));
  why.forEach((line) => { add(item, "small", line).dir = "auto"; });
}

function moveWord(event) {
  const item = event.target.closest("text[data-n]");
  if (!item) return;
  const node = Number(item.dataset.n), side = mainSide(), row = page.nodes.map((_, i) => i)
    .filter((i) => page.nodes[i].utterance === page.nodes[node].utterance && !["RELATION", "PHRASE"].includes(page.nodes[i].kind));
  const step = page.rtl ? -1 : 1, keys = {
    ArrowRight: row[row.indexOf(node) + step], ArrowLeft: row[row.indexOf(node) - step],
    ArrowUp: side.governor[node], ArrowDown: side.governor.indexOf(node), Enter: node, " ": node,
  };
  if (!(event.key in keys)) return;
  event.preventDefault();
  const next = keys[event.key];
  if (next !== undefined && next >= 0) choose(next, true);
}

// -- answers --------------------------------------------------------------------------------------------

function showAnswers() {
  const sides = (isDifference() ? page.sides : [mainSide()]).filter((side) => side.answers.length);
  byId("answers").hidden = !sides.length;
  const list = byId("answer-list");
  list.textContent = "";
  sides.forEach((side) => side.answers.forEach((answer) => {
    const box = add(list, "div", undefined, "answer");
    const title = add(box, "h3", answer.title + (twoSides ? " \u00b7 " : ""));
    if (twoSides) add(title, "span", side.name, "side-" + page.sides.indexOf(side));
    if (answer.kind === "words") wordAnswers(box, answer);
    else answerRows(box, answer);
  }));
}

function answerRows(box, answer) {
  const values = answer.rows.map(([, value]) => value), best = Math.max(...values.map((value) => value || 0));
  answer.rows.forEach(([text, value]) => {
    if (value === null || answer.kind === "number") {
      const line = add(box, "p", value === null ? text : text + " " + digits(value));
      line.dir = "auto";
      return;
    }
    const row = meterRow(box, text, value, 1, digits(value));
    if (value === best) row.firstChild.className = "best";
  });
}

function wordAnswers(box, answer) {
  const table = add(box, "table");
  answer.rows.forEach(([text, value]) => {
    const [word, label] = text.split("\t"), row = add(table, "tr");
    add(row, "th", word).scope = "row";
    add(row, "td", label);
    add(row, "td", value === null ? "" : digits(value, 2), "num");
  });
}

// -- layers and heads -----------------------------------------------------------------------------------

const layerMaps = (side) => side.maps.map((map, i) => [map, i]).filter(([map]) => map.kind === "layer");

function measure(name) {  // [layer][head], or [layer][mean of the heads]; also for a difference
  const side = mainSide(), values = side.measures[name];
  if (!isDifference()) return values;
  const other = page.sides[1].measures[name] || [];
  if (meansOnly()) return values.map((row, layer) => [mean(row) - mean(other[Math.min(layer, other.length - 1)] || [])]);
  return values.map((row, layer) => row.map((value, head) => value - ((other[layer] || [])[head] || 0)));
}

// The measure of a layer under uniform attention; none for a difference.
const evenly = (layer) => (isDifference() ? null : mainSide().chance[byId("colour-by").value][layer]);

function showEven(count) {
  const values = isDifference() ? [] : [...new Set([...Array(count).keys()].map((layer) => digits(evenly(layer), 2)))];
  byId("heads-even").hidden = !values.length;
  const ends = values.length > 2 ? [values.reduce((a, b) => (a < b ? a : b)), values.reduce((a, b) => (a > b ? a : b))].join(" to ") : values.join(" and ");
  byId("heads-even").textContent = "\u25b2 " + ends + ": uniform attention. Dashed circles: heads at or below it.";
}

function mix(low, high, share) {
  const parse = (text) => [1, 3, 5].map((i) => parseInt((text.length === 4 ? text.replace(/[^#]/g, "$&$&") : text).slice(i, i + 2), 16));
  const [a, b] = [parse(low), parse(high)];
  return `rgb(${a.map((value, i) => Math.round(value + (b[i] - value) * share)).join(",")})`;
}

function ramp(share) {
  if (isDifference() || state.signed) return mix(theme("--middle"), theme(share < 0 ? "--minus" : "--plus"), Math.min(1, Math.abs(share)));
  return mix(theme("--low"), theme("--high"), Math.max(0, Math.min(1, share)));
}

let ramps = new Map();

function colour(share) {
  if (state.painting !== undefined) return share ? state.painting : theme("--low");
  const key = Math.round(share * 200), name = key + (state.signed ? "signed" : "");
  if (!ramps.has(name)) ramps.set(name, ramp(key / 200));
  return ramps.get(name);
}

function showScale(id, most, marks) {
  const [left, canvas, right] = byId(id).children, context = canvas.getContext("2d");
  context.clearRect(0, 0, canvas.width, canvas.height);
  for (let x = 0; x < canvas.width; x += 1) {
    context.fillStyle = colour(isDifference() || state.signed ? 2 * x / (canvas.width - 1) - 1 : x / (canvas.width - 1));
    context.fillRect(x, 0, 1, 12);
  }
  (marks || []).forEach((value) => {  // a triangle below the colours
    const x = canvas.width * Math.min(1, value / most);
    context.fillStyle = theme("--ink");
    context.beginPath();
    [[x, 13], [x + 4, 20], [x - 4, 20]].forEach((place) => context.lineTo(...place));
    context.fill();
  });
  const [first, second] = page.sides;
  left.textContent = isDifference() ? "more in " + second.name : state.signed ? digits(-most, 2) : "0";
  right.textContent = isDifference() ? "more in " + first.name + " (" + digits(most, 2) + ")" : digits(most, 2);
}

function showHeads() {
  const layers = layerMaps(mainSide());
  byId("heads").hidden = !layers.length;
  if (!layers.length) return;
  byId("heads-hint").textContent = isDifference()
    ? meansOnly() ? "Each circle is the mean of a layer's heads minus that of the other model: the heads of separately trained "
      + "models do not correspond."
      : "Each circle is a head minus the same head on the other side."
    : "Each circle is a head. Choose what its colour shows: with \u201cto the word's governor\u201d, dark heads attend to the "
      + "word on which each word depends. Click a head to see it in the matrix and behind the words.";
  const name = byId("colour-by").value, values = measure(name), sizes = byId("size-by").value;
  const most = Math.max(...values.flat().map(Math.abs), 1e-9), spread = sizes ? mainSide().measures[sizes] : null;
  const table = byId("grid");
  const least = spread ? Math.min(...spread.flat()) : 0, range = spread ? Math.max(Math.max(...spread.flat()) - least, 1e-9) : 1;
  const sized = (size) => (spread ? 0.12 + 0.88 * (size - least) / range : 0.6);
  const focused = document.activeElement && table.contains(document.activeElement) && document.activeElement.dataset.at;
  table.textContent = "";
  table.className = values[0].length <= 8 ? "large" : "";
  const head = add(add(table, "thead"), "tr"), count = meansOnly() ? 0 : Math.max(...values.map((row) => row.length));
  const columns = [...Array(count).keys(), ...(count === 1 ? [] : [-1])], at = (row, i) => (i < 0 ? mean(row) : row[i]);
  add(head, "td");
  columns.forEach((i) => { add(head, "th", i < 0 ? "mean" : String(i + 1)).scope = "col"; });
  const body = add(table, "tbody");
  values.forEach((row, layer) => {
    const line = add(body, "tr"), [map, place] = layers[layer];
    add(line, "th", map.name).scope = "row";
    columns.forEach((i) => gridCell(line, { place, layer, head: i, value: at(row, i), share: at(row, i) / most, size: sized(spread && at(spread[layer], i)) }));
  });
  showScale("heads-scale", most, isDifference() ? [] : layers.map((_, layer) => evenly(layer)));
  showEven(layers.length);
  const chosen = table.querySelector('[aria-pressed="true"]') || table.querySelector("button");
  if (chosen) chosen.tabIndex = 0;
  if (focused) (table.querySelector(`[data-at="${focused}"]`) || chosen).focus();
  showRelations();
}

const mean = (row) => row.reduce((sum, value) => sum + value, 0) / (row.length || 1);

function gridCell(line, cell) {
  const box = add(line, "td");
  if (cell.value === undefined) return;
  const button = add(box, "button"), dot = add(button, "i"), full = byId("grid").className ? 36 : 26;
  const width = 6 + (full - 6) * Math.sqrt(Math.max(0, cell.size));
  button.type = "button";
  button.tabIndex = -1;
  button.dataset.at = cell.layer + "," + cell.head;
  dot.style.width = dot.style.height = width.toFixed(1) + "px";
  dot.style.background = colour(cell.share);
  const who = cell.head < 0 ? "mean of the heads" : "head " + (cell.head + 1);
  const even = evenly(cell.layer), alike = even === null ? "" : " (uniform attention: " + digits(even) + ")";
  const text = mainSide().maps[cell.place].name + ", " + who + ": " + signed(cell.value) + " " + byId("colour-by").selectedOptions[0].textContent + alike;
  if (even !== null && cell.value <= even + 5e-4) dot.className = "even";
  button.setAttribute("aria-label", text);
  button.setAttribute("aria-pressed", String(state.map === cell.place && headShown() === cell.head));
  button.addEventListener("click", () => { state.map = cell.place; state.head = cell.head; refresh(); });
  button.addEventListener("pointermove", (event) => tip(event, text));
  button.addEventListener("pointerleave", hideTip);
}

function moveHead(event) {
  const at = event.target.dataset.at;
  if (!at) return;
  const [layer, head] = at.split(",").map(Number), row = mainSide().measures.entropy[layer].length;
  const place = head < 0 ? row : head, steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  if (!steps) return;
  event.preventDefault();
  const next = place + steps[1], wanted = `${layer + steps[0]},${next >= row ? -1 : next}`;
  const button = next < 0 ? null : byId("grid").querySelector(`[data-at="${wanted}"]`);
  if (button) { event.target.tabIndex = -1; button.tabIndex = 0; button.focus(); }
}

function showRelations() {
  const table = byId("relations"), layer = layerMaps(mainSide()).findIndex(([, i]) => i === state.map);
  table.textContent = "";
  if (layer < 0) { add(table, "caption", "Attention along the arcs: choose a head."); return; }
  const which = headShown() < 0 ? "mean of its heads" : "head " + (state.head + 1);
  add(table, "caption", "Attention along the arcs: " + mainSide().maps[state.map].name + ", " + which);
  const head = add(add(table, "thead"), "tr");
  ["relation", "arcs", "to governor", "to dependent"].forEach((text) => { add(head, "th", text).scope = "col"; });
  const body = add(table, "tbody");
  mainSide().relations.forEach((row) => {
    const line = add(body, "tr");
    add(line, "th", row.relation).scope = "row";
    add(line, "td", String(row.count));
    [relationValue(row, "up", layer), relationValue(row, "down", layer)].forEach((value) => {
      // No difference if the other side has no such arc.
      if (value === null) { add(line, "td", "\u2013").title = "no such arc on the other side"; return; }
      const cell = add(line, "td", signed(value, 2));
      const bar = add(cell, "span", undefined, value < 0 ? "meter minus" : "meter");
      bar.style.width = Math.min(100, 100 * Math.abs(value)).toFixed(1) + "%";
    });
  });
}

function relationValue(row, way, layer) {
  const value = (found) => {
    const heads = found && found[way][Math.min(layer, found[way].length - 1)];
    if (!heads) return 0;
    return headShown() < 0 ? mean(heads) : heads[Math.min(state.head, heads.length - 1)];
  };
  if (!isDifference()) return value(row);
  const other = page.sides[1].relations.find((one) => one.relation === row.relation);
  return other ? value(row) - value(other) : null;
}

// -- the matrix -----------------------------------------------------------------------------------------

const canvas = byId("canvas");
let grid = null;  // the cells as last drawn

function visible(data) {
  const count = data.nodes.length, span = Math.max(1, Math.min(state.span || count, count));
  const from = Math.max(0, Math.min(state.from, count - span));
  return { count, from, span };
}

// Whether a weight passes the minimum and is among the largest of its row.
function passes(data, row, count) {
  const start = row * count, values = data.weights.subarray ? data.weights.subarray(start, start + count) : data.weights.slice(start, start + count);
  let least = state.least;
  if (state.top && state.top < count) {
    const sorted = [...values].map(Math.abs).sort((a, b) => b - a);
    least = Math.max(least, sorted[state.top - 1]);
  }
  return (value) => Math.abs(value) >= least;
}

function drawMatrix() {
  if (byId("matrix").hidden) return;
  const data = shown(), { count, from, span } = visible(data);
  const context = canvas.getContext("2d"), ratio = devicePixelRatio || 1;
  const room = Math.max(240, byId("canvas-box").clientWidth), font = "12px system-ui, sans-serif";
  const texts = data.nodes.slice(from, from + span).map((node) => short(node.text));
  context.font = "bold " + font;  // of the chosen row's label, the widest font
  const label = Math.ceil(Math.max(30, ...texts.map((text) => context.measureText(text).width))) + 10;
  const cell = Math.max(2, Math.min(42, Math.floor((Math.min(room, 900) - label - 60) / span)));
  const named = cell >= 10, edge = named ? label : 12, head = named ? Math.ceil(label * 0.84) + 8 : 12;
  const width = edge + cell * span + (named ? Math.ceil(label * 0.55) : 8), height = head + cell * span + 4;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  grid = { from, span, cell, count, head, width, left: page.rtl ? width - edge - cell * span : edge, data };
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = theme("--card");
  context.fillRect(0, 0, width, height);
  state.painting = state.map < 0 && !isDifference() ? theme("--e" + (-1 - state.map) % 6) : undefined;
  state.signed = state.map >= 0 && mainSide().maps[state.map].words.low < 0;
  const most = paintCells(context, data);
  byId("matrix-scale").hidden = state.painting !== undefined;
  state.painting = undefined;
  if (named) paintLabels(context, texts, font, edge);
  paintCursor(context);
  showScale("matrix-scale", most);
  state.signed = false;
  const partial = data.partial ? ` This page has only the ${data.partial} largest weights of each row.` : "";
  byId("matrix-hint").textContent = matrixHint() + partial;
}

function matrixHint() {
  const text = "A row shows what a word attends to. ";
  const map = mainSide().maps[state.map];
  if (state.map < 0) return text + (isDifference() ? "Blue: an edge of the first side only; orange: of the second side only." : "Filled: an edge.");
  const set = mainSide().edges[Number(byId("hatch").value)];
  if (isDifference()) return text + "Blue: more attention on the first side; orange: on the second side. Hatched: no edge " + (set ? "of " + set.name + " " : "") + "on either side.";
  if (map.kind === "gate") {
    return text + (map.words.low < 0 ? "Blue: above 0; orange: below" : "Darker: a larger share of the relation score")
      + ". Hatched: no relation, so no gate.";
  }
  const what = map.kind === "mask" ? "the answer depends more on the edge. " : "more attention. ";
  return text + "Darker: " + what + (set ? "Hatched: no edge of " + set.name + "." : "Hatched: no edge, so no attention.");
}

const short = (text) => (text.length > 16 ? text.slice(0, 15) + "\u2026" : text);
const left = (column) => grid.left + (page.rtl ? grid.span - 1 - column : column) * grid.cell;

function paintCells(context, data) {
  const { from, span, cell, count, head } = grid, gap = cell >= 8 ? 1 : 0;
  const hatch = hatching(context, theme("--card")), lines = hatching(context);
  let most = 0;
  for (let i = from; i < from + span; i += 1) {
    for (let j = from; j < from + span; j += 1) most = Math.max(most, Math.abs(data.weights[i * count + j]));
  }
  for (let i = 0; i < span; i += 1) {
    const kept = passes(data, from + i, count);
    for (let j = 0; j < span; j += 1) {
      const place = (from + i) * count + from + j, value = data.weights[place];
      context.fillStyle = !data.edge[place] && value === 0 ? hatch : colour(kept(value) && most ? value / most : 0);
      context.fillRect(left(j), head + i * cell, cell - gap, cell - gap);
      if (data.edge[place] || value === 0) continue;
      context.fillStyle = lines;  // attention without an edge of the chosen set
      context.fillRect(left(j), head + i * cell, cell - gap, cell - gap);
    }
  }
  return most;
}

function hatching(context, ground) {
  const tile = document.createElement("canvas"), pen = tile.getContext("2d");
  tile.width = tile.height = 6;
  if (ground) {
    pen.fillStyle = ground;
    pen.fillRect(0, 0, 6, 6);
  }
  pen.strokeStyle = theme("--hatch");
  pen.lineWidth = 1.2;
  pen.beginPath();
  [[-1, 1, 1, -1], [0, 6, 6, 0], [5, 7, 7, 5]].forEach(([a, b, c, d]) => { pen.moveTo(a, b); pen.lineTo(c, d); });
  pen.stroke();
  return context.createPattern(tile, "repeat");
}

const isFound = (node) => state.find && node.text.toLowerCase().includes(state.find.toLowerCase());
const wordAt = (place) => (state.view === "pieces" ? page.pieces[place].word : place);

function paintLabels(context, texts, font, edge) {
  const { from, span, cell, head, data, width } = grid;
  context.textBaseline = "middle";
  for (let i = 0; i < span; i += 1) {
    const node = data.nodes[from + i], bold = isFound(node) || wordAt(from + i) === state.word;
    context.font = bold ? "bold " + font : font;
    context.fillStyle = isFound(node) ? theme("--e4") : theme(node.kind === "WORD" ? "--ink" : "--quiet");
    context.textAlign = page.rtl ? "left" : "right";
    context.fillText(texts[i], page.rtl ? width - edge + 6 : edge - 6, head + i * cell + cell / 2);
    context.save();
    context.translate(left(i) + cell / 2, head - 6);
    context.rotate(page.rtl ? 0.98 : -0.98);
    context.textAlign = page.rtl ? "right" : "left";
    context.fillText(texts[i], 0, 0);
    context.restore();
  }
}

function paintCursor(context) {
  const { from, span, cell, head } = grid;
  context.strokeStyle = theme("--accent");
  context.lineWidth = 2;
  const rows = grid.data.nodes.map((_, i) => i).filter((i) => wordAt(i) === state.word && i >= from && i < from + span);
  if (state.word !== null && rows.length) context.strokeRect(left(page.rtl ? span - 1 : 0) - 1, head + (rows[0] - from) * cell - 1, span * cell + 1, rows.length * cell + 1);
  if (state.cell && state.cell.every((place) => place >= from && place < from + span)) {
    context.strokeStyle = theme("--ink");
    context.strokeRect(left(state.cell[1] - from) - 1, head + (state.cell[0] - from) * cell - 1, cell + 1, cell + 1);
  }
}

function cellAt(event) {
  const box = canvas.getBoundingClientRect(), x = Math.floor((event.clientX - box.left - grid.left) / grid.cell);
  const y = Math.floor((event.clientY - box.top - grid.head) / grid.cell);
  if (x < 0 || y < 0 || x >= grid.span || y >= grid.span) return null;
  return [grid.from + y, grid.from + (page.rtl ? grid.span - 1 - x : x)];
}

function cellText([row, column]) {
  const { data, count } = grid, value = data.weights[row * count + column], [to, from] = [data.nodes[row], data.nodes[column]];
  const which = state.map < 0 ? "" : ": " + signed(value, 4);
  const kinds = data.edge[row * count + column] || value ? "" : " (no edge)";
  return [to.text + " \u2192 " + from.text + which + kinds, ...whyLines(wordAt(column), wordAt(row))].join("\n");
}

function moveCell(event) {
  const steps = { ArrowRight: [0, page.rtl ? -1 : 1], ArrowLeft: [0, page.rtl ? 1 : -1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  if (event.key === "Enter" && state.cell) { choose(wordAt(state.cell[0])); return; }
  if (!steps) return;
  event.preventDefault();
  const now = state.cell || [grid.from, grid.from], next = state.cell ? now.map((place, i) => place + steps[i]) : now;
  state.cell = next.map((place) => Math.max(0, Math.min(grid.count - 1, place)));
  const outside = state.cell.find((place) => place < grid.from || place >= grid.from + grid.span);
  if (outside !== undefined) { state.from = outside < grid.from ? outside : outside - grid.span + 1; byId("from").value = state.from; }
  drawMatrix();
  byId("cell").textContent = cellText(state.cell).replace(/\n/g, " \u00b7 ");
}

// -- controls -------------------------------------------------------------------------------------------

function setControls() {
  const side = mainSide(), kinds = { layer: "", gate: "", rollout: "", mask: "explainer: " };
  const maps = side.maps.map((map, i) => [String(i), kinds[map.kind] + map.name]);
  const sets = side.edges.map((set, i) => [String(-1 - i), "edges of " + set.name]);
  if (state.map >= side.maps.length || (!maps.length && state.map >= 0)) state.map = maps.length ? 0 : -1;
  choices(byId("map"), [...maps, ...sets], state.map);
  const map = side.maps[state.map], heads = map && !meansOnly() ? map.words.heads : 1;
  if (map && state.head >= map.words.heads) state.head = -1;
  choices(byId("head"), [["-1", heads > 1 ? "mean of all" : "the only head"], ...(heads > 1 ? [...Array(heads).keys()].map((i) => [String(i), String(i + 1)]) : [])], headShown());
  byId("head-label").hidden = heads < 2;
  const hatch = byId("hatch").value || "-1";
  choices(byId("hatch"), [["-1", "the layer itself"], ...side.edges.map((set, i) => [String(i), set.name])], hatch);
  byId("hatch-label").hidden = !map || !side.edges.length;
  byId("view-label").hidden = !page.pieces.length || !map;
  if (!map) state.view = "words";
  ["top-label", "least-label"].forEach((id) => { byId(id).hidden = !map; });
  const count = (state.view === "pieces" ? page.pieces : page.nodes).length;
  byId("top-k").max = count;
  if (!state.top || state.top > count) { state.top = 0; byId("top-k").value = count; }
  byId("top-k-value").textContent = state.top || "all";
  byId("least-value").textContent = digits(state.least, 2);
  byId("window-label").hidden = count <= 24;
  if (!state.span || state.span > count) state.span = Math.min(count, 40);
  byId("span").max = count;
  byId("span").value = state.span;
  state.from = Math.max(0, Math.min(state.from, count - state.span));
  byId("from").max = count - state.span;
  byId("from").value = state.from;
  byId("from-value").textContent = state.from + 1;
  byId("span-value").textContent = state.span;
}

function setMeasures() {
  const named = { governor: "to the word's governor", dependents: "to its dependents", itself: "to the word itself" };
  const names = Object.keys(mainSide().measures).filter((name) => name !== "entropy" && name !== "rollout");
  if (!names.length) return;
  choices(byId("colour-by"), names.map((name) => [name, named[name] || "to " + (name.startsWith("edges") || name.includes("s ") ? name : "the " + name)]), byId("colour-by").value || names[0]);
}

function refresh() {
  ramps = new Map();
  setControls();
  showHeads();
  drawMatrix();
  shadeWords();
  showWord();
}

function showSide(number) {
  state.side = number;
  [...byId("sides").children].forEach((button, place) => button.setAttribute("aria-pressed", String(Number(button.dataset.side) === number)));
  setMeasures();
  showDrawings();
  showAnswers();
  resetHighlight();
  refresh();
}

function setSides() {
  if (!twoSides) return;
  byId("sides").hidden = false;
  const names = [[0, page.sides[0].name], [1, page.sides[1].name], [DIFFERENCE, "Difference"]];
  names.forEach(([number, text]) => {
    const button = add(byId("sides"), "button", text);
    button.type = "button";
    button.dataset.side = number;
    button.addEventListener("click", () => showSide(number));
  });
}

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  byId("theme").textContent = name === "dark" ? "Light" : "Dark";
  ramps = new Map();
}

function bestHead() {  // first show the head that attends most to governors
  const values = mainSide().measures.governor;
  if (!values) return;
  const layers = layerMaps(mainSide());
  let best = -1;
  values.forEach((row, layer) => row.forEach((value, head) => { if (value > best) { best = value; state.map = layers[layer][1]; state.head = head; } }));
}

function search(text) {
  state.find = text;
  document.querySelectorAll("text.found").forEach((word) => word.classList.remove("found"));
  const nodes = state.view === "pieces" ? page.pieces : page.nodes, first = nodes.findIndex(isFound);
  if (first >= 0) {
    state.from = Math.max(0, first - Math.floor(state.span / 2));
    nodes.forEach((node, place) => {
      if (isFound(node)) document.querySelectorAll(`text[data-n="${wordAt(place)}"]`).forEach((word) => word.classList.add("found"));
    });
    const turn = drawing().querySelector(`text[data-n="${wordAt(first)}"]`);
    if (turn && turn.closest("details")) turn.closest("details").open = true;
  }
  setControls();
  drawMatrix();
}

// -- saving ---------------------------------------------------------------------------------------------

function download(name, type, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// The visible drawings from top to bottom, in their present colours.
function sentenceSvg() {
  const space = "http://www.w3.org/2000/svg", out = document.createElementNS(space, "svg");
  const parts = [...drawing().querySelectorAll("svg")].filter((svg) => svg.getClientRects().length);
  let y = 0, width = 0;
  parts.forEach((svg) => {
    const box = out.appendChild(svg.cloneNode(true));
    box.querySelectorAll(".hit").forEach((path) => path.remove());
    [...svg.querySelectorAll(":scope > :not(.hit)")].forEach((own, i) => {
      const style = getComputedStyle(own), copy = box.children[i];
      copy.setAttribute("fill", style.fill);
      if (own.tagName === "path" || own.tagName === "rect") copy.setAttribute("stroke", style.stroke);
      ["tabindex", "role", "aria-label"].forEach((name) => copy.removeAttribute(name));
    });
    box.setAttribute("y", y);
    y += Number(svg.getAttribute("height"));
    width = Math.max(width, Number(svg.getAttribute("width")));
  });
  const ground = document.createElementNS(space, "rect");
  Object.entries({ width, height: y, fill: theme("--card") }).forEach(([name, value]) => ground.setAttribute(name, value));
  out.prepend(ground);
  Object.entries({ width, height: y, viewBox: `0 0 ${width} ${y}` }).forEach(([name, value]) => out.setAttribute(name, value));
  return { text: new XMLSerializer().serializeToString(out), width, height: y };
}

function savePng() {
  const { text, width, height } = sentenceSvg(), image = new Image();
  image.onload = () => {
    const paper = document.createElement("canvas"), factor = Math.min(2, 16000 / Math.max(width, height));
    paper.width = width * factor;
    paper.height = height * factor;
    paper.getContext("2d").drawImage(image, 0, 0, paper.width, paper.height);
    paper.toBlob((blob) => download("edges.png", "image/png", blob));
  };
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
}

const quoted = (cell) => '"' + String(cell).replace(/"/g, '""') + '"';
// Spreadsheets read cells that begin so as formulas.
const harmless = (text) => (/^[=+\-@\t\r]/.test(text) ? "'" + text : text);
const csvOf = (rows) => "\ufeff" + rows.map((row) => row.map(quoted).join(",") + "\r\n").join("");

function weightRows() {
  const data = shown(), count = data.nodes.length, map = mainSide().maps[state.map], rows = [["row", "column", "attends", "to", "weight", "edge", "made by"]];
  const head = !map || headShown() < 0 ? "mean" : String(state.head + 1);
  rows[0].push("layer", "head");
  for (let i = 0; i < count; i += 1) {
    for (let j = 0; j < count; j += 1) {
      const place = i * count + j;
      if (!data.edge[place] && data.weights[place] === 0) continue;
      const made = setsOf(wordAt(j), wordAt(i)).map(([set, , side]) => setName(set, side) + ": " + set.parts
        .filter((_, part) => pairMask(set.made[part], size)[wordAt(i) * size + wordAt(j)]).map(([name]) => partName(name)).join(" + "));
      rows.push([i, j, harmless(data.nodes[i].text), harmless(data.nodes[j].text), data.weights[place].toFixed(6), data.edge[place] ? 1 : 0, made.join("; "),
        map ? map.name : "edges", head]);
    }
  }
  return rows;
}

function headRows() {
  const names = Object.keys(mainSide().measures), rows = [["layer", "head", ...names]];
  layerMaps(mainSide()).forEach(([map], layer) => measure("entropy")[layer].forEach((_, head) =>
    rows.push([map.name, meansOnly() ? "mean" : head + 1, ...names.map((name) => measure(name)[layer][head])])));
  return rows;
}

// -- start ----------------------------------------------------------------------------------------------

function listen() {
  const box = byId("drawings");
  box.addEventListener("pointermove", pointed);
  box.addEventListener("pointerleave", () => { hideTip(); resetHighlight(); });
  box.addEventListener("click", (event) => {
    const item = event.target.closest("[data-n]");
    if (item) choose(Number(item.dataset.n) === state.word ? null : Number(item.dataset.n));
  });
  box.addEventListener("keydown", moveWord);
  box.addEventListener("toggle", shadeWords, true);
  byId("grid").addEventListener("keydown", moveHead);
  canvas.addEventListener("keydown", moveCell);
  canvas.addEventListener("pointermove", (event) => {
    const cell = cellAt(event);
    if (!cell) { hideTip(); return; }
    tip(event, cellText(cell));
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("click", (event) => {
    state.cell = cellAt(event);
    if (!state.cell) return;
    byId("cell").textContent = cellText(state.cell).replace(/\n/g, " \u00b7 ");
    choose(wordAt(state.cell[0]));
  });
  const on = (id, name, act) => byId(id).addEventListener(name, act);
  on("map", "change", () => { state.map = Number(byId("map").value); refresh(); });
  on("head", "change", () => { state.head = Number(byId("head").value); refresh(); });
  on("hatch", "change", drawMatrix);
  on("colour-by", "change", showHeads);
  on("size-by", "change", showHeads);
  on("top-k", "input", () => { state.top = Number(byId("top-k").value) >= Number(byId("top-k").max) ? 0 : Number(byId("top-k").value); setControls(); drawMatrix(); });
  on("least", "input", () => { state.least = Number(byId("least").value) / 100; setControls(); drawMatrix(); });
  on("find", "input", () => search(byId("find").value.trim()));
  on("from", "input", () => { state.from = Number(byId("from").value); setControls(); drawMatrix(); });
  on("span", "input", () => { state.span = Number(byId("span").value); setControls(); drawMatrix(); });
  document.querySelectorAll('input[name="view"]').forEach((button) => button.addEventListener("change", () => {
    state.view = button.value;
    state.span = state.top = state.from = 0;
    state.cell = null;
    refresh();
  }));
  on("theme", "click", () => { setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"); refresh(); });
  on("keys", "click", () => byId("help").showModal());
  on("fold", "click", () => document.querySelectorAll("details").forEach((turn) => { turn.open = false; }));
  on("unfold", "click", () => document.querySelectorAll("details").forEach((turn) => { turn.open = true; }));
  on("save-svg", "click", () => download("edges.svg", "image/svg+xml", sentenceSvg().text));
  on("save-png", "click", savePng);
  on("save-matrix", "click", () => canvas.toBlob((blob) => download("matrix.png", "image/png", blob)));
  on("save-csv", "click", () => download("weights.csv", "text/csv;charset=utf-8", csvOf(weightRows())));
  on("save-heads", "click", () => download("heads.csv", "text/csv;charset=utf-8", csvOf(headRows())));
  document.addEventListener("keydown", (event) => {
    if (event.target.matches("input, select")) return;
    if (event.key === "Escape" && !byId("help").open) { hideTip(); choose(null); }
    if (event.key !== "[" && event.key !== "]") return;
    const layers = layerMaps(mainSide()).map(([, i]) => i), now = layers.indexOf(state.map);
    const next = layers[Math.max(0, Math.min(layers.length - 1, now + (event.key === "]" ? 1 : -1)))];
    if (next !== undefined) { state.map = next; refresh(); }
  });
  let wait = 0;
  addEventListener("resize", () => { clearTimeout(wait); wait = setTimeout(drawMatrix, 100); });
}

function hintSentence() {
  const hint = byId("sentence-hint");
  if (!mainSide().edges.length) hint.textContent = "Arrows run from each word to its dependents. Choose a word to highlight its arcs.";
  const labels = new Set(page.sides.flatMap((side) => side.brackets.map((bracket) => bracket[2])));
  const spans = ["e1", "e2"].filter((span) => labels.delete(span));
  const nodes = page.sides.some((side) => side.bracket_nodes.length);
  if (labels.size) hint.textContent += nodes ? " Brackets are phrases; those in a box are nodes." : " Brackets are phrases.";
  if (spans.length) hint.textContent += " The marked " + (spans[1] ? "spans are e1 and e2." : "span is " + spans[0] + ".");
}

// Whether the model's edges, the first set, depend on the tree: they are typed, or the graph is not complete.
const readsTree = ({ edges: [own] }) => own.typed.length > 0 || setMask(own).includes(0);

function start() {
  setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  state.side = Math.max(0, page.sides.findIndex((side) => side.edges.length && readsTree(side)));
  const none = !mainSide().maps.length && !mainSide().edges.length;
  byId("matrix").hidden = none;
  byId("folding").hidden = page.utterances < 2;
  hintSentence();
  setSides();
  setMeasures();
  bestHead();
  state.map = mainSide().maps.length ? state.map : -1;
  listen();
  if (twoSides) showSide(state.side);
  else {
    showDrawings();
    showAnswers();
    if (none) { showWord(); return; }
    refresh();
  }
}

start();
