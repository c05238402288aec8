"""The page to rate in: one file that needs no network and gives the same CSV as the sheets."""

from __future__ import annotations

import json
from typing import Any

# What HTML or JavaScript could take for markup or for the end of a line inside a script.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def rating_page(data: dict[str, Any]) -> str:
    """The HTML page of one evaluation, for all its raters.

    A rater chooses a number and grades the items in the order of that rater's sheet. Answers are kept in the
    browser's local storage until they are saved as a CSV file. Nothing is sent anywhere.

    Args:
        data: ``key``, the digest of the key; ``columns`` of the CSV; ``items``, each with its ``context``,
            its ``response`` and its first three ``cells`` in the CSV; and ``orders``, the places of the items
            by rater.
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
body { font: 17px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 46em; padding: 0 1em 4em;
  color: #1b1b1b; background: #fff; }
header { position: sticky; top: 0; background: #fff; border-bottom: 1px solid #bbb; padding: .6em 0; }
header progress { width: 8em; }
button, select { font: inherit; padding: .15em .6em; }
fieldset { border: 1px solid #ccc; border-radius: 6px; margin: 1.2em 0; padding: .6em 1em;
  scroll-margin: 6em; }
fieldset.graded { border-color: #2a7; }
legend { color: #555; padding: 0 .4em; }
ol { margin: .2em 0; padding-left: 1.6em; color: #444; }
.response { margin: .6em 0; padding: .4em .8em; background: #eef3fb; border-left: 4px solid #47a; }
label { display: inline-block; margin-right: 1.4em; padding: .2em 0; cursor: pointer; }
#note { color: #a00; }
</style>
</head>
<body>
<header>
<label>Rater <select id="rater" autocomplete="off"><option value="0">choose</option></select></label>
<progress id="bar" value="0" max="1"></progress> <span id="count"></span>
<button id="next" type="button" disabled>Next without a grade</button>
<button id="save" type="button" disabled>Save as CSV</button>
<div id="note" role="status"></div>
</header>
<p>Each box has the turns of a dialogue and a response to the last one. Grade each response by itself:
<b>0</b> not fluent; <b>1</b> fluent but irrelevant to the dialogue; <b>2</b> fluent and relevant. Choose your
rater number first. Your grades stay in this browser: save them at the end, and send the file back.</p>
<main id="items"></main>
<noscript>This page needs JavaScript; the CSV sheets do not.</noscript>
<script type="application/json" id="data">DATA_OF_THE_SHEETS</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const MEANING = [["0", "0 not fluent"], ["1", "1 fluent, irrelevant"], ["2", "2 fluent and relevant"]];
const byId = (id) => document.getElementById(id);
let rater = 0, grades = {};

function add(parent, tag, text, className) {
  const node = parent.appendChild(document.createElement(tag));
  if (text !== undefined) node.textContent = text;  // never innerHTML: texts are not trusted
  if (className) node.className = className;
  return node;
}

// Nobody's before a number is chosen: another rater's grades would be overwritten.
function order() { return rater ? data.orders[rater - 1].map((place) => data.items[place]) : []; }

function storageName() { return "graphdep-human-eval-" + data.key + "-" + rater; }

function load() {
  grades = {};
  try { grades = JSON.parse(localStorage.getItem(storageName())) || {}; } catch (error) { cannotKeep(); }
}

function keep() {
  try { localStorage.setItem(storageName(), JSON.stringify(grades)); } catch (error) { cannotKeep(); }
}

function cannotKeep() {
  byId("note").textContent = "This browser does not keep grades: save the CSV before you close the page.";
}

function showItem(item, number) {
  const id = item.cells[0], box = add(byId("items"), "fieldset");
  box.id = id;
  add(box, "legend", number + " of " + data.items.length + " (" + id + ")");
  const turns = add(box, "ol");
  item.context.forEach((turn) => add(turns, "li", turn));
  add(box, "div", item.response, "response");
  MEANING.forEach(([grade, meaning]) => {
    const label = add(box, "label"), radio = add(label, "input");
    radio.type = "radio";
    radio.name = id;
    radio.value = grade;
    radio.checked = grades[id] === grade;
    radio.addEventListener("change", () => { grades[id] = grade; keep(); progress(); });
    label.appendChild(document.createTextNode(" " + meaning));
  });
}

function progress() {
  const done = order().filter((item) => item.cells[0] in grades);
  done.forEach((item) => { byId(item.cells[0]).className = "graded"; });
  byId("bar").max = data.items.length;
  byId("bar").value = done.length;
  byId("count").textContent = done.length + " of " + data.items.length + " graded";
}

function show() {
  byId("note").textContent = "";
  byId("items").textContent = "";
  byId("next").disabled = byId("save").disabled = !rater;
  load();
  order().forEach((item, place) => showItem(item, place + 1));
  progress();
}

function csv() {
  const quote = (cell) => '"' + cell.replace(/"/g, '""') + '"';
  const rows = order().map((item) => [...item.cells, grades[item.cells[0]] || "", String(rater), data.key]);
  return "\\ufeff" + [data.columns, ...rows].map((row) => row.map(quote).join(",") + "\\r\\n").join("");
}

function save() {
  const left = data.items.filter((item) => !(item.cells[0] in grades)).length;
  if (left && !confirm(left + " responses have no grade yet. Save all the same?")) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv;charset=utf-8" }));
  link.download = "rater" + rater + ".csv";
  link.click();
}

function next() {
  const item = order().find((item) => !(item.cells[0] in grades));
  if (item) byId(item.cells[0]).scrollIntoView();
  else byId("note").textContent = "All responses are graded: save the CSV.";
}

data.orders.forEach((_, i) => { add(byId("rater"), "option", String(i + 1)).value = String(i + 1); });
byId("rater").addEventListener("change", () => { rater = Number(byId("rater").value); show(); });
byId("next").addEventListener("click", next);
byId("save").addEventListener("click", save);
show();
</script>
</body>
</html>
"""
