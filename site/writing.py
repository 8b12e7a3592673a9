"""Reads Markdown as GitHub does where Python-Markdown would not, and leads links out of docs/ to where their pages are
on the site.
"""

import logging
import os
import posixpath
import re

from pages import PROJECT

LOG = logging.getLogger("mkdocs.hooks.writing")
# A link that is not code: [text](target).
LINK = re.compile(r"(?P<code>```.*?```|`[^`\n]*`)|(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)", re.DOTALL)
HEADING = re.compile(r"<h[1-4] [^>]*>[^<]*")
CONSTANT = re.compile(r"[\w:]{20,}")
CODE = re.compile(r"<code>([^<\n]*)</code>")
TAGS = re.compile(r"(<(?:pre|code|script|style|svg)\b.*?</(?:pre|code|script|style|svg)>|<[^>]*>)", re.DOTALL)
UNIT = re.compile(r"(?<=\d) (?=(?:%|×|[nmµ]?s|min|h|bytes|[kKMG]i?B)(?![\w-]))")
RANGE = re.compile(r"(?<=\d)–(?=\d)")
INTERVAL = re.compile(r"\[[\d.,]+ to [\d.,]+\]")
OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]{0,24}(?![\w-])")
LIGHT = "-light.svg"
ITEM = re.compile(r"( *)([-*+]|\d+\.) ")


def for_the_site(markdown, path, root, files):
    return links(lists(markdown), path, root, files)


def for_browsers(html):
    """Says where lines may break, and which headings are code; site.css does the rest. A browser breaks a line after
    the dashes of an option, but not after the colons of a Ruby constant, which may be wider than a telephone. It also
    breaks a line between a figure and its unit, and within a range.
    """
    html = HEADING.sub(lambda found: CONSTANT.sub(lambda name: name[0].replace("::", "::<wbr>"), found[0]), html)
    html = re.sub(r"(<h[34] [^>]*)>(?=<code>)", r'\1 class="of-code">', html)
    html = CODE.sub(lambda found: unbroken(found[1]), html)
    parts = TAGS.split(html)
    parts[::2] = (together(text) for text in parts[::2])
    return "".join(parts)


def together(text):
    text = RANGE.sub("–\u2060", UNIT.sub("\u00a0", text))
    return INTERVAL.sub(lambda found: found[0].replace(" ", "\u00a0"), text)


def unbroken(text):
    if text.startswith("-") and len(text) <= 24:
        return f'<code class="option">{text}</code>'
    return "<code>" + OPTION.sub(r'<span class="option">\g<0></span>', text) + "</code>"


def lists(markdown):
    """An empty line before a list that follows a paragraph: GitHub needs none. And four spaces before an item of a list
    inside another, where GitHub needs as many as the outer item's mark is wide."""
    lines, code, before, outer = [], False, "", []
    for line in markdown.split("\n"):
        code ^= line.lstrip().startswith("```")
        item = None if code else ITEM.match(line)
        if item and before.strip() and not ITEM.match(before) and not before.startswith(" "):
            lines.append("")
        if item:
            outer = [indent for indent in outer if indent < len(item[1])]
            lines.append("    " * len(outer) + line.lstrip())
            outer.append(len(item[1]))
        else:
            lines.append(line)
        if line.strip() and not item and not line.startswith(" "):
            outer = []
        before = line
    return "\n".join(lines)


def links(markdown, path, root, files):
    """Links as the site has them; one to a file that the site does not have becomes its text."""
    origin = next((source for source, to in PROJECT.items() if to == path), f"docs/{path}")

    def link(found):
        target = found["target"]
        if found["code"] or re.match(r"#|\w+:", target):
            return found[0]
        target, mark, anchor = target.partition("#")
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))
        place = placed(wanted, root, files)
        if place:
            relative = posixpath.relpath(place, posixpath.dirname(path) or ".")
            written = f"{found['image']}[{found['text']}]({relative}{mark}{anchor})"
            return in_both_schemes(written) if found["image"] and relative.endswith(LIGHT) else written
        if files.get_file_from_path(posixpath.normpath(posixpath.join(posixpath.dirname(path), target))):
            return found[0]
        if not os.path.exists(root / wanted):
            LOG.warning("%s links to %s, which is not there", origin, found["target"])
        return found["text"]

    return LINK.sub(link, markdown)


def in_both_schemes(image):
    """An image for light pages, and its copy for dark ones; site.css shows one of them."""
    return f"{image}{{ .on-light }}{image.replace(LIGHT, '-dark.svg')}{{ .on-dark }}"


def placed(wanted, root, files):
    """Where on the site a file of the repository is, if it is there. A folder is its page."""
    if wanted == "README.md":
        return "index.md"
    if wanted in PROJECT:
        return PROJECT[wanted]
    inside = wanted.removeprefix("docs/")
    if inside == wanted and wanted != "docs":
        return None
    # A code host shows the text of a run, or of all runs. The page has charts, but a code host would show it as source.
    if inside.startswith("results/") and inside.endswith("/README.md"):
        folder = inside.removesuffix("/README.md")
        page = "index.html" if folder == "results" else "report.html"
        if files.get_file_from_path(f"{folder}/{page}"):
            return f"{folder}/{page}"
    for name in (inside, f"{inside}/README.md", f"{inside}/index.html", f"{inside}/report.html"):
        if files.get_file_from_path(name):
            return name
    return None
