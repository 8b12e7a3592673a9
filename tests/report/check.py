#!/usr/bin/env python3
"""Opens a report.html in headless Chromium as readers do, and says what is wrong with it.

    tests/report/check.py REPORT.html [--screenshots FOLDER] [--chromium PATH]

Light and dark, telephone and desktop, with scripts and without: charts and tables are there, nothing is
requested but the file itself, no error is logged, nothing sticks out sideways, all text can be read.
Exit code 0 when all is well, 1 when not, 2 when the check itself cannot be made.
"""

import argparse
import base64
import os
import pathlib
import shutil
import sys

from chromium import BrowserError, Chromium, Page

PROBE = (pathlib.Path(__file__).parent / "probe.js").read_text()

# (width, colour scheme, scripts)
READERS = [(width, scheme, True) for width in (390, 1280) for scheme in ("light", "dark")] + [(1280, "light", False)]

# Smallest text in a chart, in pixels on the screen.
SMALLEST_TEXT = 9


def problems(page, url):
    """What a reader would complain about, one sentence each."""
    found = page.ask(PROBE)
    errors = [e["entry"]["text"] for e in page.seen("Log.entryAdded") if e["entry"]["level"] == "error"]
    errors += [str(e["args"]) for e in page.seen("Runtime.consoleAPICalled") if e["type"] in ("error", "assert")]
    errors += [e["exceptionDetails"]["text"] for e in page.seen("Runtime.exceptionThrown")]
    requests = {e["request"]["url"] for e in page.seen("Network.requestWillBeSent")} - {url}
    checks = [
        (found["charts"] > 0, "no chart is visible"),
        (found["named"] == found["charts"], f"{found['charts'] - found['named']} charts lack a title or a description"),
        (found["drawn"] == found["charts"], f"{found['charts'] - found['drawn']} charts lack a line or text"),
        ((found["smallest"] or 0) >= SMALLEST_TEXT, f"text in a chart is {found['smallest']} px small, {SMALLEST_TEXT} expected"),
        (not found["spilled"], f"text sticks out of its chart: {found['spilled']}"),
        (found["tables"] > 0 and found["figures"] > 0, "no table with figures"),
        (found["verdicts"], "no verdict"),
        (not found["faint"], f"contrast below 4.5: {found['faint'][:5]}"),
        (found["overflow"] <= 0, f"the page is {found['overflow']} px wider than its {found['width']} px"),
        (found["data"] == "object", "the embedded JSON has no rows"),
        (found["scripts"] == 0, f"{found['scripts']} scripts"),
        (not requests, f"requests leave the page: {sorted(requests)}"),
        (not errors, f"errors are logged: {errors}"),
    ]
    return [sentence for good, sentence in checks if not good]


def keep(page, path, width):
    """Writes a picture of the whole page as it is now."""
    height = page.ask("Math.ceil(document.documentElement.getBoundingClientRect().height)")
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    data = page.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]
    path.write_bytes(base64.b64decode(data))


def check(browser, url, reader, screenshots):
    """Opens the page as one reader; true when nothing is wrong."""
    width, scheme, scripts = reader
    name = f"{width}-{scheme}{'' if scripts else '-no-script'}"
    page = Page(browser, width, scheme, scripts)
    page.open(url)
    if screenshots:
        keep(page, screenshots / f"{name}.png", width)
    sentences = problems(page, url)
    print(f"{'✗' if sentences else '✓'} {width} px, {scheme}{'' if scripts else ', scripts off'}")
    for sentence in sentences:
        print(f"    {sentence}")
    return not sentences


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("report", type=pathlib.Path)
    arguments.add_argument("--screenshots", type=pathlib.Path, help="keep pictures of the whole page in this folder")
    arguments.add_argument("--chromium", default=os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium")
    options = arguments.parse_args()
    if not options.report.is_file():
        raise OSError(f"{options.report} is no file; bin/hecaton sweep writes a report.html")
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    url = options.report.resolve().as_uri()
    with Chromium(options.chromium) as browser:
        results = [check(browser, url, reader, options.screenshots) for reader in READERS]
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (BrowserError, OSError) as error:
        print(f"cannot check the report: {error}", file=sys.stderr)
        sys.exit(2)
