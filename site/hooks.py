"""What MkDocs gets beside its settings: pages from elsewhere than docs/, and how Markdown and links written for the
repository are read.
"""

import sys
from pathlib import Path

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File
from mkdocs.structure.nav import Link

sys.path.insert(0, str(Path(__file__).parent))
import pages  # noqa: E402
import writing  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent


def on_config(config):
    commands = pages.commands(ROOT)
    pages.place(config.nav, "Commands", list(commands))
    pages.place(
        config.nav,
        "How it is built",
        sorted(f"decisions/{page.name}" for page in (ROOT / "docs/decisions").glob("*.md")),
        instead_of="decisions/",
    )
    config.extra["generated"] = {**commands, **pages.formats(ROOT), **pages.of_the_project(ROOT)}
    return config


@event_priority(50)
def on_files(files, config):
    for path, text in config.extra["generated"].items():
        files.append(File.generated(config, path, content=text))
    for path, folder in (("api/rust", ROOT / "target/doc"), ("api/ruby", ROOT / "target/rdoc")):
        for found in sorted(file for file in folder.rglob("*") if file.is_file()):
            # The licences of fonts are Markdown, and no pages.
            name = found.relative_to(folder).as_posix() + (".txt" if found.suffix == ".md" else "")
            files.append(File.generated(config, f"{path}/{name}", abs_src_path=str(found)))
    # rustdoc links to a page of all crates, and makes none.
    files.append(
        File.generated(
            config,
            "api/rust/index.html",
            content='<meta http-equiv="refresh" content="0; url=../../api.html">'
            '<a href="../../api.html">Classes and methods</a>',
        )
    )
    return files


def on_nav(nav, config, files):
    results = Link("Results", "results/index.html")
    reference = next(item for item in nav.items if item.title == "Explanation")
    reference.children.append(results)
    results.parent = reference
    return nav


def on_page_markdown(markdown, page, config, files):
    return writing.for_the_site(markdown, page.file.src_uri, ROOT, files)


def on_page_content(html, page, config, files):
    return writing.for_browsers(html)
