#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""The page of `skein report --html` as a browser has it: whole, without network, usable by keyboard, in
both themes, on a narrow screen.

  page_in_browser.py CHROMIUM SKEIN MAKE_INCIDENT MAKE_SQL_TRACE PAGES FOLDER
     PAGES: t_unit_analysis_page, which makes pages of hostile and huge captures
"""
import os
import re
import subprocess
import sys
import time
import tempfile

sys.dont_write_bytecode = True
from chromium import Browser

ROWS = 5_000_000
TREES = 250_000  # of each of three threads: more rows than that
MOST_BYTES = 1_000_000

HOSTILE = """(() => {
  const text = document.documentElement.textContent;
  return {images: document.images.length, scripts: document.scripts.length,
          handlers: [...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a => a.name.startsWith('on'))).length,
          links: [...document.links].filter(a => a.origin !== location.origin || !a.getAttribute('href').startsWith('#')).length,
          unseen: /[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u200b-\\u200f\\u202a-\\u202e\\u2066-\\u2069\\ufeff]/.test(text),
          text: text};
})()"""

# An image, a script and a request that somebody got into the page are refused by its policy.
INTRUDE = """new Promise(done => {
  const refused = [];
  document.addEventListener('securitypolicyviolation', e => {
    refused.push(e.effectiveDirective);
    if (refused.length >= 3) done([refused.sort(), window.broken === undefined]);
  });
  const image = new Image();
  image.src = 'http://127.0.0.1:9/x.png';
  const script = document.createElement('script');
  script.textContent = 'window.broken = 1';
  document.body.append(image, script);
  fetch('http://127.0.0.1:9/y').catch(() => 0);
})"""

# What sticks out of the window, but for what is inside of a box that scrolls.
CLIPPED = """(() => {
  const wide = document.documentElement.clientWidth, out = [];
  for (const e of document.body.querySelectorAll('*')) {
    if (e.closest('.wide') && !e.classList.contains('wide')) continue;
    const box = e.getBoundingClientRect();
    if (box.width > 0 && (box.right > wide + 1 || box.left < -1)) out.push(e.outerHTML.slice(0, 80));
  }
  return {out: out, scroll: document.documentElement.scrollWidth, wide: wide};
})()"""

# Of each text its contrast to what lies behind it (WCAG 2.2: 4.5), and of names on drawn regions.
CONTRAST = """(() => {
  const parts = c => c.match(/[\\d.]+/g).map(Number);
  const light = c => { const [r, g, b] = parts(c).slice(0, 3).map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
                       return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)]; return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
  const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
                        if (parts(c).length < 4 || parts(c)[3] > 0) return c; } return 'rgb(255, 255, 255)'; };
  const low = new Set();
  for (const e of document.body.querySelectorAll('*')) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    const style = getComputedStyle(e);
    if (!own || e.closest('title, desc, script') || style.display === 'none') continue;
    const colour = e.closest('svg') ? style.fill : style.color;
    const g = e.closest('g'), rect = e.closest('svg') && g ? g.querySelector('rect[class^=h]') : null;
    const solid = rect && getComputedStyle(rect).fillOpacity === '1';
    if (rect && !solid) continue;
    const r = ratio(colour, solid ? getComputedStyle(rect).fill : ground(e));
    if (r < 4.5) low.add(`${e.tagName}.${e.getAttribute('class')} ${r.toFixed(2)}`);
  }
  return {low: [...low], ground: getComputedStyle(document.body).backgroundColor};
})()"""

FOCUS = """(() => { const e = document.activeElement, all = [...document.querySelectorAll('a[href], [tabindex="0"]')];
  const s = e && e !== document.body ? getComputedStyle(e) : null;
  return {at: all.indexOf(e), of: all.length, seen: s !== null && s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0}; })()"""


def sound(tab, what):
    complaints, requests = tab.complaints(), tab.requests()
    assert not complaints, f"{what}: {complaints[:5]}"
    assert not requests, f"{what} asks for {requests[:5]}"


def texts_are_text(tab, what):
    got = tab.run(HOSTILE)
    text = got.pop("text")
    assert got == {"images": 0, "scripts": 1, "handlers": 0, "links": 0, "unseen": False}, f"{what}: {got}"
    return text


def keyboard_reaches_all(tab):
    tab.run("document.activeElement.blur(); window.scrollTo(0, 0)")
    reached, count = set(), tab.run(FOCUS)["of"]
    for _ in range(count + 2):
        tab.press("Tab")
        got = tab.run(FOCUS)
        until = time.monotonic() + 30  # the focus is drawn a frame later, or more of a busy machine
        while got["at"] >= 0 and not got["seen"] and time.monotonic() < until:
            time.sleep(0.05)
            got = tab.run(FOCUS)
        if got["at"] >= 0:
            assert got["seen"], "what has the focus does not show it"
            reached.add(got["at"])
    assert count > 4 and len(reached) == count, f"Tab reaches {len(reached)} of {count}"


def keys_walk(tab, kind):
    """The arrow keys go from part to part of a drawing, and each is told; Enter widens a frame."""
    box = f"document.querySelector('svg.{kind}').parentNode"
    tab.run(f"{box}.focus()")
    told = []
    for key in ("ArrowRight", "ArrowDown", "ArrowDown", "ArrowRight"):
        tab.press(key)
        told.append(tab.run(f"{box}.nextElementSibling.textContent"))
    assert all(told) and len(set(told)) > 1, f"{kind}: {told}"
    assert tab.run(f"{box}.querySelectorAll('.at').length") == 1
    if kind == "flame":
        for key in ("ArrowUp", "ArrowUp", "ArrowUp", "ArrowDown"):
            tab.press(key)
        tab.press("Enter")
        assert abs(tab.run(f"+{box}.querySelector('.at rect').getAttribute('width')") - 1000) < 1


def themes(tab, what):
    grounds = set()
    for theme in ("light", "dark"):
        tab.theme(theme)
        got = tab.run(CONTRAST)
        grounds.add(got["ground"])
        assert not got["low"], f"{what}, {theme}: {got['low'][:8]}"
    assert len(grounds) == 2, grounds


def narrow(tab, what):
    tab.size(360, 740)
    got = tab.run(CLIPPED)
    assert got["wide"] <= 360 and got["scroll"] <= 360 and not got["out"], f"{what} at 360 px: {got}"
    tab.size(1280, 900)


def judged(browser, path):
    """What holds for every page. The tab stays open."""
    what = os.path.basename(path)
    assert os.path.getsize(path) <= MOST_BYTES, f"{what}: {os.path.getsize(path)} bytes"
    tab = browser.open(path)
    tab.size(1280, 900)
    text = texts_are_text(tab, what)
    themes(tab, what)
    narrow(tab, what)
    sound(tab, what)
    return tab, text


def wrong_ones_are_found(browser, path, folder):
    """A page into which somebody got something is not judged sound."""
    with open(path, encoding="utf-8") as file:
        page = file.read()
    for at, instead in (("</main>", '<img src="http://127.0.0.1:9/x"/></main>'), ("</main>", '<p onclick="x()">x</p></main>'),
                        ("</main>", "<script>alert(1)</script></main>"), ("</main>", "\u202e</main>"),
                        ("</main>", "<pre>" + 500 * "x" + "</pre></main>"), ("'use strict';", "'use strict';nowhere();")):
        assert at in page
        wrong = os.path.join(folder, "wrong.html")
        with open(wrong, "w", encoding="utf-8") as file:
            file.write(page.replace(at, instead, 1))
        try:
            judged(browser, wrong)
        except AssertionError:
            continue
        raise AssertionError(f"{instead[:40]} is not found")


def report(skein, trace, page):
    ran = subprocess.run([skein, "report", trace, "--html", page], check=False, stderr=subprocess.PIPE)
    assert ran.returncode == 0 and os.path.getsize(page) > 0, ran.stderr


def main(chromium, skein, make_incident, make_sql, pages, folder):
    def named(name):
        return os.path.join(folder, name)
    subprocess.run([make_incident, named("incident.skein")], check=True)
    subprocess.run([make_sql, named("wood.skein"), "1", str(TREES)], check=True)
    report(skein, named("incident.skein"), named("incident.html"))
    report(skein, named("wood.skein"), named("wood.html"))
    os.mkdir(named("made"))
    subprocess.run([pages], env={**os.environ, "SKEIN_PAGES": named("made")}, check=True, stdout=subprocess.DEVNULL)
    made = sorted(os.listdir(named("made")))
    assert {"shop.html", "marks.html", "huge.html", "hostile-0.html"} <= set(made), made
    with Browser(chromium) as browser:
        tab, text = judged(browser, named("incident.html"))
        for words in ("<img src=x onerror=alert(1)>\\x1b[31m\\u{202e}gnp.exe", "held by thread 101"):
            assert words in text, words
        keyboard_reaches_all(tab)
        keys_walk(tab, "picture")
        sound(tab, "incident.html")
        wrong_ones_are_found(browser, named("incident.html"), folder)
        assert tab.run(INTRUDE) == [["connect-src", "img-src", "script-src-elem"], True]
        tab.close()
        for name in made:
            tab, _ = judged(browser, named("made/" + name))
            if name == "shop.html":
                keyboard_reaches_all(tab)
                keys_walk(tab, "flame")
                sound(tab, name)
            tab.close()
        tab, text = judged(browser, named("wood.html"))
        rows = int(re.search(r"Records\s*([\d,]+)", text).group(1).replace(",", ""))
        assert rows >= ROWS, rows
        assert tab.run("document.querySelectorAll('svg.picture g').length") > 0
        tab.close()
    print(f"{len(made) + 2} pages; of {rows} rows {os.path.getsize(named('wood.html'))} bytes")


with tempfile.TemporaryDirectory() as place:
    main(*sys.argv[1:], place)
