#!/usr/bin/env python3
"""Opens the kept pages of results in headless Chromium, and says what of them does not fit or cannot be read.

    tests/report/kept.py [FOLDER]

Nothing is wider than the screen, no table is cut or has to be scrolled sideways, and all text is inside its chart. Text
can be read in light and dark colours. No choice is without effect. check.py looks closer, but only at pages that a run
has just written.
"""

import itertools
import pathlib
import sys

from check import PROBE, said
from chromium import Chromium, Page

RESULTS = pathlib.Path(__file__).parents[2] / "docs/results"


def problems(page):
    """What a reader of the open page would complain about, one sentence each."""
    found = page.evaluate(PROBE)
    checks = [
        (found["overflow"] <= 0, f"the page is {found['overflow']} px wider than its {found['width']} px"),
        (not found["narrowed"], f"tables are cut: {found['narrowed']}"),
        (not found["idle"], f"there are no bars to choose an order of: {found['idle']}"),
        (not found["spilled"], f"text sticks out of its chart: {found['spilled']}"),
        (not found["faint"], f"contrast below 4.5: {found['faint'][:5]}"),
    ]
    return [sentence for good, sentence in checks if not good]


def main(folder):
    reports = sorted(folder.rglob("*.html"))
    if not reports:
        raise OSError(f"{folder} has no pages")
    results = []
    with Chromium("/usr/bin/chromium") as browser:
        for width, scheme in itertools.product((390, 1280), ("light", "dark")):
            page = Page(browser, width, scheme)
            for report in reports:
                page.open(report.resolve().as_uri())
                results.append(said(f"{report.relative_to(folder)}, {width} px, {scheme}", problems(page)))
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]) if sys.argv[1:] else RESULTS))
