#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Judges pages of analysis/page.c, as XML and as HTML, by Python's own parsers.

usage: page_judge.py FILE...    says what is wrong and fails
"""
import base64
import hashlib
import html.parser
import re
import sys
import xml.etree.ElementTree as tree

TAGS = set("html head meta title style body main header nav section h1 h2 p a b bdi br ol ul li dl div dt dd span "
           "footer script figure figcaption table caption thead tbody tr th td svg g rect line path text tspan desc "
           "defs pattern".split())
VOID = {"meta", "br"}
UNSEEN = re.compile("[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e"
                    "\u2060-\u206f\ufeff\ufff0-\ufffb\ufffe\uffff]")


class Html(html.parser.HTMLParser):
    """What a reader of HTML makes of it: the same elements in the same order, each closed."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.seen, self.open, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data):
        self.text.append(data)

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data[:40]!r}")

    def unknown_decl(self, data):
        raise AssertionError(f"a declaration: {data[:40]!r}")


def elements(root, tag):
    return [e for e in root.iter() if e.tag == tag]


def policy_check(root):
    """The policy is the strict one, and its hashes are those of the one style and the one script."""
    policies = [e for e in elements(root, "meta") if e.get("http-equiv") == "Content-Security-Policy"]
    assert len(policies) == 1, "no policy"
    rules = dict(rule.strip().split(" ", 1) for rule in policies[0].get("content").split(";"))
    assert rules.pop("default-src") == "'none'" and rules.pop("base-uri") == "'none'"
    assert rules.pop("form-action") == "'none'"
    for tag in "style", "script":
        found = elements(root, tag)
        assert len(found) == 1 and not found[0].attrib, f"{len(found)} elements {tag}"
        digest = base64.b64encode(hashlib.sha256(found[0].text.encode()).digest()).decode()
        rule = rules.pop(tag + "-src")
        assert rule == f"'sha256-{digest}'", f"{tag}: hash is sha256-{digest}, policy says {rule}"
    assert not rules, f"more rules: {rules}"


def attributes_check(root):
    ids = [e.get("id") for e in root.iter() if e.get("id")]
    assert len(ids) == len(set(ids)), "an id is there twice"
    for e in root.iter():
        assert e.tag in TAGS, f"element {e.tag}"
        for name, value in e.attrib.items():
            assert not name.startswith("on") and name not in ("style", "src", "srcset", "srcdoc", "data", "action"), name
            assert not name.endswith("href") or (value.startswith("#") and value[1:] in ids), f"{name}={value}"
            assert name not in ("aria-labelledby", "aria-describedby") or set(value.split()) <= set(ids), value
            assert "nan" not in value.lower().split() and "inf" not in value.lower().split(), f"{name}={value}"
            assert name != "d" or re.fullmatch(r"[MHVhvlz0-9. -]*", value), f"path {value[:60]}"
            assert name not in ("x", "y", "x1", "x2", "y1", "y2", "width", "height") or \
                re.fullmatch(r"-?\d+(\.\d+)?", value), f"{name}={value}"


def access_check(root):
    assert root.get("lang") == "en" and len(elements(root, "h1")) == 1 and elements(root, "main")
    for svg in elements(root, "svg"):
        if svg.get("aria-hidden") != "true":
            assert svg.get("role") == "img" and svg.get("aria-labelledby") and svg[0].tag == "title", "svg without a name"
    for table in elements(root, "table"):
        assert table[0].tag == "caption" and table[0].text, "table without a caption"
        for th in elements(table, "th"):
            assert th.get("scope") in ("row", "col"), "th without scope"
    for e in root.iter():
        assert e.get("class") != "wide" or (e.get("tabindex") == "0" and e.get("role") == "region" and e.get("aria-label"))


def main():
    for path in sys.argv[1:]:
        data = open(path, "rb").read()
        assert len(data) <= 1_000_000, f"{path}: {len(data)} bytes"
        text = data.decode()
        assert text.startswith("<!DOCTYPE html>\n") and not UNSEEN.search(text), "a character that is not to be seen"
        assert "url(" not in text.replace("url(#hatch)", "") and "@import" not in text
        root = tree.fromstring(text)
        page = Html()
        page.feed(text)
        page.close()
        assert not page.open, f"left open: {page.open}"
        assert page.seen == [e.tag for e in root.iter()], "HTML and XML differ"
        policy_check(root)
        attributes_check(root)
        access_check(root)


if __name__ == "__main__":
    try:
        main()
    except (AssertionError, tree.ParseError, UnicodeDecodeError) as wrong:
        sys.exit(f"page_judge: {wrong}")
