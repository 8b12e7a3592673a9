"""The pages that are not written in docs/: the commands' help, the formats of files, and what the project's other
folders say of themselves.
"""

import json
import os
import re
import subprocess

# Pages of the repository that stand outside of docs/, and where they are on the site.
PROJECT = {
    "ARCHITECTURE.md": "project/ARCHITECTURE.md",
    "BIAS.md": "project/BIAS.md",
    "CHANGELOG.md": "project/CHANGELOG.md",
    "CONTRIBUTING.md": "project/CONTRIBUTING.md",
    "SECURITY.md": "project/SECURITY.md",
    "benches/README.md": "benches/README.md",
    "site/api.md": "api.md",
}
SCHEMAS = {"run": "docs/schemas/run.schema.json", "record": "docs/schemas/record.schema.json"}


def place(nav, title, paths, instead_of=None):
    """Puts pages into the section of the navigation that has this title, behind those that stand there or where one of
    them stood.
    """
    for item in nav:
        ((name, inside),) = item.items() if isinstance(item, dict) else [(None, None)]
        if not isinstance(inside, list):
            continue
        if name == title:
            inside[:] = [page for page in inside if page != instead_of]
            inside.extend(path for path in paths if path not in inside)
        place(inside, title, paths, instead_of)


def commands(root):
    """A page for each command, from what the command says of itself; HECATON_WITH_FETCH names the program."""
    program = os.environ.get("HECATON_WITH_FETCH", str(root / "target/debug/hecaton"))
    text = subprocess.run([program, "completions", "markdown"], check=True, capture_output=True, text=True).stdout
    found = {}
    for page in re.split(r"^(?=# )", text, flags=re.MULTILINE)[1:]:
        name = page.splitlines()[0].removeprefix("# ")
        found[f"commands/{name.replace(' ', '-')}.md"] = with_options_as_code(without_repetitions(page))
    found["commands/hecaton.md"] += "\n".join(
        ["## Commands\n", *(listed(path, page) for path, page in list(found.items())[1:])]
    )
    return found


def without_repetitions(page):
    """Subcommands share sections of options with their command. A section that says the same again becomes a link."""
    title = page.splitlines()[0].removeprefix("# ")
    first, text = {}, []
    for part in re.split(r"^(?=##+ [^`])", page, flags=re.MULTILINE):
        heading, _, options = part.partition("\n")
        level, _, name = heading.partition(" ")
        options = re.sub(r" \{#[\w-]+\}$", "", options, flags=re.MULTILINE)
        options = options.replace(f"\n#{level} ", "\n### ").rstrip()
        if level == "##":
            first[name] = options
        elif level == "###" and options and first.get(name) == options:
            part = f"{heading}\n\nThe same as for [`{title}`](#{name.lower().replace(' ', '-')}).\n\n"
        text.append(part)
    return "".join(text)


def with_options_as_code(page):
    """Help is written for a terminal, where `--option` needs no backquotes. On a page it is code, as a heading's is.
    What stands in brackets behind the help becomes a sentence.
    """
    page = re.sub(r" \[default: (.*)\]\.?$", r"\n\nDefault: \1.", page, flags=re.MULTILINE)
    page = re.sub(r"^Default: ([^`\s]+)\.$", r"Default: `\1`.", page, flags=re.MULTILINE)
    parts = re.split(r"(```.*?```|`[^`\n]*`|^#[^\n]*$)", page, flags=re.DOTALL | re.MULTILINE)
    parts[::2] = (re.sub(r"(?<![\w-])--[a-z][a-z0-9-]*", r"`\g<0>`", text) for text in parts[::2])
    return "".join(parts)


def listed(path, page):
    """One command in the list of all, with the first sentence of its page."""
    title, about = page.split("\n\n", 2)[:2]
    return f"- [`{title.removeprefix('# ')}`]({os.path.basename(path)}): {about.rstrip('.')}."


def of_the_project(root):
    return {to: (root / path).read_text() for path, to in PROJECT.items()}


def formats(root):
    return {
        f"formats/{name}.md": described(json.loads((root / path).read_text()), path) for name, path in SCHEMAS.items()
    }


def described(schema, path):
    """A JSON Schema in words: a table of keys for each object in it."""
    text = [f"# {schema['title']}", plain(schema["description"])]
    text.append(
        f"The same as a JSON Schema, for programs: [{os.path.basename(path)}](../{path.removeprefix('docs/')})."
    )
    text += keys(schema, schema)
    for name, kind in definitions(schema).items():
        text.append(f"## {name}")
        text.append(plain(kind.get("description", "")))
        text += keys(kind, schema)
    return "\n\n".join(part for part in text if part)


def keys(kind, schema):
    parts = [table(kind, schema)] if "properties" in kind else []
    for choice in kind.get("oneOf", []) + kind.get("anyOf", []):
        if "properties" in choice:
            parts += [choice.get("description", ""), table(choice, schema)]
        else:
            words = choice.get("enum", [choice["const"]] if "const" in choice else [])
            said = f": {choice['description']}" if "description" in choice else ""
            parts.append(f"- {', '.join(f'`{word}`' for word in words) or type_of(choice)}{said}")
    if "enum" in kind:
        parts.append(", ".join(f"`{word}`" for word in kind["enum"]))
    return parts or [f"Value: {type_of(kind)}."]


def table(kind, schema):
    required = kind.get("required", [])
    rows = ["| key | value | meaning |", "| --- | --- | --- |"]
    for name, value in kind["properties"].items():
        often = "" if name in required else ", may be absent"
        meaning = plain(meaning_of(value, schema)).replace("|", "\\|")
        rows.append(f"| `{name}` | {type_of(value)}{often} | {meaning} |")
    return "\n".join(rows)


def meaning_of(value, schema):
    """What the key says of itself, or else what the object in it says of itself."""
    if "description" in value:
        return value["description"]
    if "const" in value:
        return "Says which of these forms it is."
    inside = value.get("items", value)
    name = inside.get("$ref", "").rsplit("/", 1)[-1]
    return definitions(schema).get(name, {}).get("description", "")


def definitions(schema):
    """The types that a schema names, in either spelling of JSON Schema."""
    return schema.get("$defs", schema.get("definitions", {}))


def plain(text):
    """A comment of the code without its line breaks and links, which lead into the code."""
    return re.sub(r"\[(`[^`]+`)\](\([^)]*\))?", r"\1", " ".join(text.split()))


def type_of(value):
    if value is True or value == {}:
        return "anything"
    if "$ref" in value:
        name = value["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if "const" in value:
        return f"`{json.dumps(value['const'])}`"
    for several in ("allOf", "anyOf", "oneOf"):
        if several in value:
            return " or ".join(type_of(one) for one in value[several])
    kind = value.get("type", "anything")
    if isinstance(kind, list):
        return " or ".join(type_of({**value, "type": one}) for one in kind)
    if kind == "array":
        return f"list of {plural(type_of(value['items']))}" if isinstance(value.get("items"), dict) else "list"
    if kind == "object" and isinstance(value.get("additionalProperties"), dict):
        return f"object of {plural(type_of(value['additionalProperties']))}"
    return {"integer": "whole number", "boolean": "true or false", "null": "null", "string": "text"}.get(kind, kind)


def plural(kind):
    """The plural of a type: a list of whole numbers."""
    return kind if "[" in kind else re.sub(r"\b(number|text|list)\b", r"\1s", kind)
