#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Pictures of the page of a capture, for docs/analysis.md: its findings and its window, light and dark.

  make_pictures.py SKEIN CAPTURE FOLDER       tools/pictures.sh takes the capture
"""
import base64
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from chromium import Browser
from png_small import png_smaller

WIDTH = 1000
MOST_BYTES = 150_000
TOP = """(() => { const e = document.querySelector('#findings').getBoundingClientRect(); return [0, 0, %d, e.bottom + 14]; })()""" % WIDTH
WINDOW = """(() => { const s = document.querySelector('#picture'), a = s.getBoundingClientRect(),
  b = s.querySelector('.legend').getBoundingClientRect(); return [0, a.top - 4, %d, b.bottom - a.top + 10]; })()""" % WIDTH


def main(skein, capture, folder):
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, Browser() as browser:
        page = os.path.join(place, "page.html")
        subprocess.run([skein, "report", os.path.basename(capture), "--html", page], check=True, cwd=os.path.dirname(capture))
        tab = browser.open(page)
        tab.size(WIDTH, 900)
        for theme in ("light", "dark"):
            tab.theme(theme)
            for name, box in (("findings", TOP), ("window", WINDOW)):
                path = os.path.join(folder, f"{name}-{theme}.png")
                with open(path, "wb") as file:
                    file.write(png_smaller(base64.b64decode(tab.picture(tab.run(box)))))
                size = os.path.getsize(path)
                print(f"{path}: {size} bytes")
                assert size < MOST_BYTES, f"{path} is too large"
        assert not tab.complaints() and not tab.requests()


main(sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3])
