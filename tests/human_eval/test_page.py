from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from graphdep.human_eval import score_sheets, write_sheets

# As much of a browser as the page's script asks for.
BROWSER = r"""
const nodes = {}, listeners = {};
class Node {
  constructor(tag) { this.tag = tag; this.children = []; this.dataset = {}; }
  set id(value) { this._id = value; nodes[value] = this; }
  get id() { return this._id; }
  appendChild(node) { this.children.push(node); return node; }
  addEventListener(name, f) { this["on" + name] = f; }
  set innerHTML(_) { throw new Error("innerHTML"); }
  click() { console.log(JSON.stringify({ name: this.download, text: blobs[this.href] })); }
}
const blobs = {}, stored = {};
globalThis.document = {
  getElementById: (id) => nodes[id],
  createElement: (tag) => new Node(tag),
  createTextNode: (text) => text,
};
globalThis.localStorage = {
  getItem: (name) => stored[name] ?? null, setItem: (name, value) => { stored[name] = value; },
};
globalThis.Blob = class { constructor(parts) { this.text = parts.join(""); } };
URL.createObjectURL = (blob) => { blobs["blob:1"] = blob.text; return "blob:1"; };
globalThis.confirm = () => true;
for (const id of ["rater", "count", "next", "save", "note", "items", "data"]) new Node("x").id = id;
"""
RATE = r"""
const choose = (number) => {
  nodes.rater.value = String(number);
  nodes.items.children = [];
  nodes.rater.onchange();
};
const find = (node, tag) => node.children.flatMap((child) => child.tag ? [
  ...(child.tag === tag ? [child] : []), ...find(child, tag)] : []);
if (!nodes.save.disabled || nodes.items.children.length) throw new Error("items before a number is chosen");
choose(2);
const boxes = nodes.items.children;
boxes.slice(1).forEach((box, i) => find(box, "input").filter((x) => x.value === String(i % 3))[0].onchange());
choose(1);
if (nodes.count.textContent !== "0 of 12 graded") throw new Error(nodes.count.textContent);
choose(2);
if (nodes.count.textContent !== "11 of 12 graded") throw new Error(nodes.count.textContent);
nodes.save.onclick();
"""


@pytest.fixture
def page(systems, tmp_path):
    paths = write_sheets(systems, tmp_path / "out", n=6, seed=1, raters=2)
    return paths[1].read_text("utf-8")


def parts(page):
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1]
    return data, re.search(r"<script>(.*?)</script>", page, re.S)[1]


def test_it_needs_no_network(page):
    assert "://" not in page
    assert "default-src 'none'" in page
    assert not re.search(r"\b(src|href)=", page)


def test_texts_cannot_become_markup(page):
    tags = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: tags.append(tag)
    parser.feed(page)
    assert tags.count("script") == 2
    assert "i" not in tags  # the contexts have it
    data, script = parts(page)
    assert not set(data) & set("<>&\u2028")
    assert "</script><b>&amp;" in {item["response"] for item in json.loads(data)["items"]}
    assert "innerHTML =" not in script
    assert "document.write" not in script


def test_it_has_all_orders_and_no_system(page, tmp_path, read_csv):
    data = json.loads(parts(page)[0])
    for rater, order in enumerate(data["orders"], start=1):
        rows = read_csv(tmp_path / "out" / "raters" / f"rater{rater}.csv")
        cells = [data["items"][i]["cells"] for i in order]
        assert cells == [[row["item"], row["context"], row["response"]] for row in rows]
        assert {row["key"] for row in rows} == {data["key"]}
    assert {name for item in data["items"] for name in item} == {"cells", "context", "response"}


@pytest.mark.skipif(shutil.which("node") is None, reason="no JavaScript")
def test_what_it_saves_is_the_sheet_with_grades(page, tmp_path, read_csv):
    data, script = parts(page)
    (tmp_path / "page.js").write_text(
        f"{BROWSER}\nnodes.data.textContent = {json.dumps(data)};\n{script}\n{RATE}", encoding="utf-8"
    )
    done = subprocess.run(
        ["node", tmp_path / "page.js"], capture_output=True, encoding="utf-8", check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    saved = json.loads(done.stdout)
    assert saved["name"] == "rater2.csv"
    path = tmp_path / "filled.csv"
    path.write_bytes(saved["text"].encode("utf-8"))
    given = read_csv(tmp_path / "out" / "raters" / "rater2.csv")
    grades = ["", *(str(i % 3) for i in range(11))]
    assert read_csv(path) == [{**row, "grade": grade} for row, grade in zip(given, grades)]
    scores = score_sheets(tmp_path / "out" / "key.json", [path], allow_missing=True)
    assert sum(system.n for system in scores.systems) == 11
