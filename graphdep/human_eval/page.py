"""The rating page: one file that needs no network and saves the same CSV as the sheets."""

from __future__ import annotations

import json
from typing import Any

# Characters that are markup in HTML, or line breaks in JavaScript.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def rating_page(data: dict[str, Any]) -> str:
    """The HTML page of an evaluation: raters choose their number and grade the items in the order of their
    sheet. Grades stay in the browser's local storage until they are saved as CSV; nothing is sent.

    Args:
        data: ``key``, the digest of the key; ``columns`` of the CSV; ``items``, each with ``context``,
            ``response`` and its first three ``cells`` in the CSV; ``orders`` of the items by rater.
    """
    text = json.dumps(data, ensure_ascii=False).translate(_ESCAPES)
    return _PAGE.replace("DATA_OF_THE_SHEETS", text, 1)


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'">
<title>Rating responses</title>
<style>
body { font: 17px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 46em; padding: 0 1em 4em; }
header { position: sticky; top: 0; background: #fff; border-bottom: 1px solid #bbb; padding: .6em 0; }
fieldset { border: 1px solid #ccc; margin: 1.2em 0; scroll-margin: 6em; }
fieldset.graded { border-color: #2a7; }
.response { padding: .4em .8em; background: #eef3fb; border-left: 4px solid #47a; }
label { margin-right: 1.4em; }
#note { color: #a00; }
</style>
</head>
<body>
<header>
<label>Rater <select id="rater" autocomplete="off"><option value="0">choose</option></select></label>
<span id="count"></span>
<button id="next" type="button" disabled>Next ungraded</button>
<button id="save" type="button" disabled>Save as CSV</button>
<div id="note" role="status"></div>
</header>
<p>Choose your rater number first. Each box shows the turns of a dialogue and a response to the last turn.
Grade each response independently: <b>0</b> not fluent; <b>1</b> fluent but irrelevant to the dialogue;
<b>2</b> fluent and relevant. Your grades stay in this browser: save them at the end, and return the file.</p>
<main id="items"></main>
<noscript>This page needs JavaScript. Without it, use the CSV sheets.</noscript>
<script type="application/json" id="data">DATA_OF_THE_SHEETS</script>
<script>
"use strict";
const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const MEANING = ["0 not fluent", "1 fluent, irrelevant", "2 fluent and relevant"];
let rater = 0, items = [], grades = {};

function add(parent, tag, text, className) {
  const node = parent.appendChild(document.createElement(tag));
  if (text !== undefined) node.textContent = text;  // never innerHTML: texts are not trusted
  if (className) node.className = className;
  return node;
}

function withStorage(use) {
  const cannot = "This browser cannot store grades: save the CSV before you close the page.";
  try { return use("graphdep-human-eval-" + data.key + "-" + rater); }
  catch (error) { byId("note").textContent = cannot; }
}

function showItem(item, place) {
  const id = item.cells[0], box = add(byId("items"), "fieldset");
  box.id = id;
  add(box, "legend", place + 1 + " of " + items.length + " (" + id + ")");
  const turns = add(box, "ol");
  item.context.forEach((turn) => add(turns, "li", turn));
  add(box, "p", item.response, "response");
  MEANING.forEach((meaning, grade) => {
    const label = add(box, "label"), radio = add(label, "input");
    Object.assign(radio, { type: "radio", name: id, value: String(grade) });
    radio.checked = grades[id] === radio.value;
    radio.addEventListener("change", () => {
      grades[id] = radio.value;
      withStorage((name) => localStorage.setItem(name, JSON.stringify(grades)));
      progress();
    });
    add(label, "span", meaning);
  });
}

function progress() {
  const done = items.filter((item) => item.cells[0] in grades);
  done.forEach((item) => { byId(item.cells[0]).className = "graded"; });
  byId("count").textContent = done.length + " of " + items.length + " graded";
}

function chooseRater() {
  rater = Number(byId("rater").value);
  items = rater ? data.orders[rater - 1].map((place) => data.items[place]) : [];
  byId("note").textContent = byId("items").textContent = "";
  byId("next").disabled = byId("save").disabled = !rater;
  grades = withStorage((name) => JSON.parse(localStorage.getItem(name))) || {};
  items.forEach(showItem);
  progress();
}

function save() {
  const left = items.filter((item) => !(item.cells[0] in grades)).length;
  if (left && !confirm(left + " responses have no grade yet. Save anyway?")) return;
  const quote = (cell) => '"' + cell.replace(/"/g, '""') + '"';
  const rows = items.map((item) => [...item.cells, grades[item.cells[0]] || "", String(rater), data.key]);
  const text = "\\ufeff" + [data.columns, ...rows].map((row) => row.map(quote).join(",") + "\\r\\n").join("");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  link.download = "rater" + rater + ".csv";
  link.click();
}

function next() {
  const item = items.find((item) => !(item.cells[0] in grades));
  if (item) byId(item.cells[0]).scrollIntoView();
  else byId("note").textContent = "All responses are graded: save the CSV.";
}

data.orders.forEach((_, i) => { add(byId("rater"), "option", String(i + 1)).value = String(i + 1); });
byId("rater").addEventListener("change", chooseRater);
byId("next").addEventListener("click", next);
byId("save").addEventListener("click", save);
chooseRater();
</script>
</body>
</html>
"""
