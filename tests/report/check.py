#!/usr/bin/env python3
"""Opens a report.html in headless Chromium as readers do, and says what is wrong with it.

    tests/report/check.py REPORT.html [--screenshots FOLDER] [--chromium PATH]

Light and dark, telephone and desktop, with scripts and without: charts and tables are there, nothing is
requested but the file itself, no error is logged, nothing sticks out sideways, all text can be read. No
script runs but the one that sorts and filters tables. In light colours and with scripts, the keyboard sorts every
table, by figures and by words.
On paper nothing is hidden, cut off or too faint to read.
Exit code 0 when all is well, 1 when not, 2 when the check itself cannot be made.
"""

import argparse
import base64
import hashlib
import os
import pathlib
import re
import shutil
import sys

from chromium import BrowserError, Chromium, Page

PROBE = (pathlib.Path(__file__).parent / "probe.js").read_text()

# (width, colour scheme, scripts)
READERS = [(width, scheme, True) for width in (390, 1280) for scheme in ("light", "dark")] + [(1280, "light", False)]

# Smallest text in a chart, in pixels on the screen.
SMALLEST_TEXT = 9

# Most bytes of a page.
LARGEST = 225_000

# Width of a sheet of A4 between margins of 1 cm, in pixels of 1/96 inch.
PAPER = 718


# The columns of table N as they stand below each heading, and whether they are words.
COLUMNS = """[...document.querySelectorAll("table.sort")[%d].tHead.rows[0].cells].map((head, column) => [
  head.classList.contains("word"), head.getAttribute("aria-sort"),
  [...document.querySelectorAll("table.sort")[%d].tBodies[0].rows].map((row) => row.cells[column].textContent)])"""
FOCUS = 'document.querySelectorAll("table.sort")[%d].tHead.rows[0].cells[%d].querySelector("button")?.focus()'


def unsorted(page):
    """Headings that do not sort their table when Enter is pressed on them, twice on each, one sentence each."""
    faults = []
    for table in range(page.evaluate('document.querySelectorAll("table.sort").length')):
        for column, (words, _, _) in enumerate(page.evaluate(COLUMNS % (table, table))):
            for _ in range(2):
                page.evaluate(FOCUS % (table, column))
                page.press_enter()
                _, order, cells = page.evaluate(COLUMNS % (table, table))[column]
                if not in_order(cells, words, order):
                    faults.append(f"table {table}, column {column} is not {order or 'sorted'}: {cells[:5]}")
    return faults


# Chooses each language in turn, then all again: how many rows and bars of others stay, of its own are gone, and are not
# back.
FILTERED = """(() => {
  const [choice] = document.querySelectorAll(".tools select");
  const all = [...document.querySelectorAll("tr[data-language], g.row")];
  if (!choice) return 0;
  const gone = (element) => element.hidden || element.style.display === "none";
  const choose = (language) => { choice.value = language; choice.dispatchEvent(new Event("change")); };
  const wrong = (language) =>
    (choose(language), all.filter((it) => gone(it) === (it.dataset.language === language)).length);
  const faults = [...choice.options].slice(1).map((option) => wrong(option.value));
  choose("all");
  return faults.reduce((sum, n) => sum + n, 0) + all.filter(gone).length;
})()"""


def in_order(cells, words, order):
    """Whether a column is as its heading says; what has no figure stands below."""
    if order not in ("ascending", "descending"):
        return False
    keys = [cell.casefold() for cell in cells] if words else [figure(cell) for cell in cells]
    known = keys if words else [key for key in keys if key is not None]
    if not words and keys[: len(known)] != known:
        return False
    # Where letters go is the browser's to know; that all of them are there and turn round is enough.
    return words or known == sorted(known, reverse=order == "descending")


def figure(text):
    """The number that a cell begins with."""
    match = re.match(r"-?[\d,.]+", text)
    return float(match[0].replace(",", "")) if match else None


def strangers(found):
    """Scripts that the page's policy does not name."""
    sums = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in found["scripts"])
    return [value for value in sums if f"'sha256-{value}'" not in found["policy"]]


def problems(page, url, used=True):
    """What a reader would complain about who looks at the page, and who uses its tables, one sentence each."""
    found = page.evaluate(PROBE)
    faults = unsorted(page) if used else []
    unfiltered = page.evaluate(FILTERED) if used else 0
    errors = [e["entry"]["text"] for e in page.seen("Log.entryAdded") if e["entry"]["level"] == "error"]
    errors += [str(e["args"]) for e in page.seen("Runtime.consoleAPICalled") if e["type"] in ("error", "assert")]
    errors += [e["exceptionDetails"]["text"] for e in page.seen("Runtime.exceptionThrown")]
    requests = {e["request"]["url"] for e in page.seen("Network.requestWillBeSent")} - {url}
    checks = [
        (found["charts"] > 0, "no chart is visible"),
        (found["named"] == found["charts"], f"{found['charts'] - found['named']} charts lack a title or a description"),
        (found["drawn"] == found["charts"], f"{found['charts'] - found['drawn']} charts lack a line or text"),
        (
            (found["smallest"] or 0) >= SMALLEST_TEXT,
            f"text in a chart is {found['smallest']} px small, {SMALLEST_TEXT} expected",
        ),
        (not found["spilled"], f"text sticks out of its chart: {found['spilled']}"),
        (found["tables"] > 0 and found["figures"] > 0, "no table with figures"),
        (found["sortable"] > 0, "no table can be sorted"),
        (not found["narrowed"], f"tables are cut: {found['narrowed']}"),
        (not found["idle"], f"there are no bars to choose an order of: {found['idle']}"),
        (found["verdicts"], "no verdict"),
        (not found["faint"], f"contrast below 4.5: {found['faint'][:5]}"),
        (found["overflow"] <= 0, f"the page is {found['overflow']} px wider than its {found['width']} px"),
        (not strangers(found), f"scripts that the policy does not name: {strangers(found)}"),
        (not faults, f"tables are not sorted by the keyboard: {faults[:3]}"),
        (unfiltered == 0, f"{unfiltered} rows and bars are not filtered by their language"),
        (not requests, f"requests leave the page: {sorted(requests)}"),
        (not errors, f"errors are logged: {errors}"),
    ]
    return [sentence for good, sentence in checks if not good]


def problems_on_paper(page):
    """What a reader of the printed page would complain about."""
    found = page.evaluate(PROBE)
    checks = [
        (found["charts"] > 0, "no chart is printed"),
        (not found["hidden"], f"parts stay folded: {found['hidden']}"),
        (not found["faint"], f"contrast below 4.5: {found['faint'][:5]}"),
        (found["overflow"] <= 0, f"the sheet is {found['overflow']} px too narrow"),
        (not found["cut"], f"tables are cut off at the right: {found['cut']}"),
    ]
    return [sentence for good, sentence in checks if not good]


def keep(page, path, width):
    """Writes a picture of the whole page as it is now."""
    height = page.evaluate("Math.ceil(document.documentElement.getBoundingClientRect().height)")
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
    # A key press waits for the next frame, and tables have some hundred columns. Keys do the same in all colours.
    used = scripts and scheme == "light"
    return said(f"{width} px, {scheme}{'' if scripts else ', scripts off'}", problems(page, url, used))


def check_paper(browser, url, screenshots):
    """Prints the page as a reader in the dark would; true when nothing is wrong."""
    page = Page(browser, PAPER, "dark")
    page.print_look("dark")
    page.open(url)
    if screenshots:
        screenshots.joinpath("paper.pdf").write_bytes(page.pdf())
    return said("on paper", problems_on_paper(page))


def said(name, sentences):
    """Prints what is wrong; true when nothing is."""
    print(f"{'✗' if sentences else '✓'} {name}")
    for sentence in sentences:
        print(f"    {sentence}")
    return not sentences


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("report", type=pathlib.Path)
    arguments.add_argument("--screenshots", type=pathlib.Path, help="keep pictures of the whole page in this folder")
    arguments.add_argument(
        "--chromium", default=os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
    )
    options = arguments.parse_args()
    if not options.report.is_file():
        raise OSError(f"{options.report} is no file; bin/hecaton sweep writes a report.html")
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    url = options.report.resolve().as_uri()
    with Chromium(options.chromium) as browser:
        results = [check(browser, url, reader, options.screenshots) for reader in READERS]
        results.append(check_paper(browser, url, options.screenshots))
    size = options.report.stat().st_size
    results.append(said("size", [f"{size} bytes, {LARGEST} at most"] if size > LARGEST else []))
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (BrowserError, OSError) as error:
        print(f"cannot check the report: {error}", file=sys.stderr)
        sys.exit(2)
