#!/usr/bin/env python3
"""Proves that check.py can fail: spoils a good report in every way it looks for, and expects each complaint.

tests/report/spoiled.py REPORT.html
"""

import pathlib
import re
import sys
import tempfile

from check import PAPER, problems, problems_on_paper
from chromium import Chromium, Page

CSP = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')


def after_main(markup):
    """Puts markup into the page, which is then no longer protected from it."""
    return lambda page: CSP.sub("", page).replace("<main>", f"<main>{markup}", 1)


# Not every page has clients of several languages.
TWO_LANGUAGES = (
    """<table><tbody><tr data-language="go"><td>1</td></tr><tr data-language="ruby"><td>2</td></tr></tbody></table>"""
)

# (what is done to the page, what must be said about it)
SPOILS = {
    "charts removed": (lambda page: re.sub(r"<svg.*?</svg>", "", page), "no chart is visible"),
    "charts unnamed": (lambda page: re.sub(r"<desc.*?</desc>", "", page), "lack a title or a description"),
    "lines removed": (
        lambda page: page.replace('class="line', 'class="gone').replace('class="beam', 'class="gone'),
        "lack a line or text",
    ),
    "tables emptied": (lambda page: re.sub(r"<tbody>.*?</tbody>", "<tbody></tbody>", page), "no table with figures"),
    "verdicts removed": (
        lambda page: re.sub("<h1>[^<]*", "<h1>", page).replace('class="verdicts"', ""),
        "no verdict",
    ),
    "faint text": (after_main('<p style="color:#999;background:#fff">faint</p>'), "contrast below 4.5"),
    "too wide": (after_main('<div style="width:2000px">wide</div>'), "wider than its"),
    "a wide table": (
        after_main('<table class="cards" style="width:2000px"><tbody><tr><td>1</td></tr></tbody></table>'),
        "tables are cut",
    ),
    "a wide folded table": (
        after_main(
            '<details><summary>more</summary><div style="overflow:auto">'
            '<table style="width:2000px"><tbody><tr><td>1</td></tr></tbody></table></div></details>'
        ),
        "tables are cut",
    ),
    "nothing to order": (
        lambda page: after_main('<p class="tools"><label>Bars by:</label></p>')(page.replace(' row"', '"')),
        "no bars to choose an order of",
    ),
    "tiny text": (lambda page: page.replace("</style>", "text{font-size:5px!important}</style>"), "px small"),
    "text outside": (lambda page: re.sub(r'(<text class="axis[^"]*" x=")', r"\g<1>9", page), "sticks out"),
    "an image loaded": (after_main('<img alt="" src="http://127.0.0.1:9/x.png">'), "requests leave the page"),
    "a script": (after_main("<script>console.error('broken')</script>"), "errors are logged"),
    "an exception": (after_main("<script>throw new Error('broken')</script>"), "errors are logged"),
    "a script changed": (lambda page: page.replace('"click"', '"dblclick"'), "policy does not name"),
    "sorting broken": (lambda page: CSP.sub("", page).replace("? 1 : -1", "? 1 : 1"), "not sorted by the keyboard"),
    "filter broken": (
        lambda page: after_main(TWO_LANGUAGES)(page.replace("row.hidden = !wanted", "row.hidden = wanted")),
        "not filtered by their language",
    ),
}

# These show only when the tables are used, which takes longer than to look at the page.
SPOILS_OF_USE = {"sorting broken", "filter broken"}

# Damage to the printed page, and words of the finding.
SPOILS_ON_PAPER = {
    "folded": (
        after_main(
            "<details style='content-visibility:hidden;height:20px;overflow:hidden'><summary>more</summary>"
            "<table><tbody><tr><td>1</td></tr></tbody></table></details>"
        ),
        "parts stay folded",
    ),
    "faint on paper": (after_main('<p style="color:#999;background:#fff">faint</p>'), "contrast below 4.5"),
    "cut off": (
        after_main('<table style="width:2000px"><tbody><tr><td>1</td></tr></tbody></table>'),
        "cut off at the right",
    ),
    "charts not printed": (
        lambda page: page.replace("</style>", "@media print{svg{display:none!important}}</style>"),
        "no chart is printed",
    ),
}


def noticed(name, page, url, expected, look):
    """Whether the check complains as expected of what is open."""
    page.open(url)
    said = look(page)
    good = any(expected in sentence for sentence in said)
    print(f"{'✓' if good else '✗'} {name}" + ("" if good else f": expected “{expected}”, got {said}"))
    return good


def main(report):
    good = pathlib.Path(report).read_text()
    results = []
    with Chromium("/usr/bin/chromium") as browser, tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "spoiled.html")
        url = path.as_uri()
        for name, (spoil, expected) in SPOILS.items():
            path.write_text(spoil(good))
            used = name in SPOILS_OF_USE
            page = Page(browser, 1280, "light")
            results.append(noticed(name, page, url, expected, lambda page, used=used: problems(page, url, used)))
        for name, (spoil, expected) in SPOILS_ON_PAPER.items():
            path.write_text(spoil(good))
            page = Page(browser, PAPER, "dark")
            page.print_look("dark")
            results.append(noticed(name, page, url, expected, problems_on_paper))
    failed = results.count(False)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
