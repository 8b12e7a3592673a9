"""Checks the built site: each link and anchor within it leads somewhere, and no page loads anything from elsewhere."""

import html
import re
import sys
from functools import cache
from pathlib import Path
from urllib.parse import unquote

SCRIPT = re.compile(r"(<script\b[^>]*>).*?</script>|<style\b.*?</style>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
TAG = re.compile(r"<([a-zA-Z][\w-]*)\b((?:[^<>\"']|\"[^\"]*\"|'[^']*')*)>")
ATTRIBUTE = re.compile(r"([\w-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
LOADED = {"script", "img", "iframe", "source", "video", "audio", "embed", "object"}
# Anchors that a browser does not look up by an id.
ANYWHERE = {"", "top"}


@cache
def page(path):
    """The anchors of a page, and what its tags point at: (tag, its attributes, target)."""
    anchors, targets = set(), []
    for tag, rest in TAG.findall(SCRIPT.sub(r"\1", path.read_text(encoding="utf-8", errors="replace"))):
        attributes = {name.lower(): html.unescape(a or b or c) for name, a, b, c in ATTRIBUTE.findall(rest)}
        anchors.update(attributes[name] for name in ("id", "name") if name in attributes)
        targets += [
            (tag.lower(), attributes, attributes[name]) for name in ("href", "src", "data") if name in attributes
        ]
    return anchors, targets


def faults(site, path):
    for tag, attributes, target in page(path)[1]:
        if re.match(r"[a-zA-Z][\w+.-]*:|//", target):
            loads = tag in LOADED or (tag == "link" and attributes.get("rel") not in ("canonical", "alternate"))
            if loads and not target.startswith("data:"):
                yield f"loads {target} from elsewhere"
            continue
        fault = fault_of(site, path, target)
        if fault:
            yield f"{target}: {fault}"


def fault_of(site, path, target):
    # rdoc and rustdoc make their own links; some lead to anchors and files that only their scripts know.
    if path.relative_to(site).parts[0] == "api" and path.parent != site / "api":
        return None
    place, _, anchor = target.partition("#")
    place = unquote(place.partition("?")[0])
    if place.startswith("/"):
        # The page for a wrong address is shown at any depth, so it names the site's root.
        wanted = site / place.lstrip("/") if path.name == "404.html" else None
    else:
        wanted = (path.parent / place).resolve() if place else path
    if wanted is None:
        return "begins at the root of the server, which the site may not be at"
    if wanted.is_dir():
        wanted /= "index.html"
    if not wanted.is_file() or site not in wanted.parents:
        return "is not there"
    # Lines of source are marked by scripts, as 12-15.
    if wanted.suffix != ".html" or anchor in ANYWHERE or re.fullmatch(r"\d+-\d+", anchor):
        return None
    # Browsers look for it as it stands, and then decoded.
    return None if {anchor, unquote(anchor)} & page(wanted)[0] else "has no such anchor"


def look(site):
    """The faults of all pages, and how many pages and links were looked at."""
    pages = sorted(site.rglob("*.html"))
    found = [f"{path.relative_to(site)}: {fault}" for path in pages for fault in sorted(set(faults(site, path)))]
    return found, len(pages), sum(len(page(path)[1]) for path in pages)


def main(site):
    found, pages, links = look(site)
    print(*found, f"{pages} pages, {links} links, {len(found)} faults", sep="\n")
    return bool(found) or pages < 50


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
