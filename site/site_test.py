"""Tests of what builds and checks the site: a check that finds nothing in a spoiled page would pass for ever."""

import tempfile
import unittest
from pathlib import Path

import check
import formats
import pages
import questions
import writing


class Files:
    """The files of a site, by their paths, as MkDocs has them."""

    def __init__(self, *paths):
        self.paths = paths

    def get_file_from_path(self, path):
        return path if path in self.paths else None


class PagesTest(unittest.TestCase):
    def test_options_in_help_are_code(self):
        self.assertEqual(
            "## --a <N>\n\nWith `--b-c`, see `x --d` and a--e.\n\n```\n--f\n```\n",
            pages.with_options_as_code("## --a <N>\n\nWith --b-c, see `x --d` and a--e.\n\n```\n--f\n```\n"),
        )

    def test_brackets_behind_help_are_sentences(self):
        self.assertEqual(
            "How many\n\nDefault: `10`.\n\nWhere\n\nDefault: a new one.\n",
            pages.with_options_as_code("How many [default: 10]\n\nWhere [default: a new one].\n"),
        )

    def test_options_that_a_command_has_already_are_a_link(self):
        pace = "#### `--rate <N>` {#add-rate}\n\nHow many"
        first = f"# h f\n\n## Pace\n\n{pace[1:].replace('add-', '')}\n\n"
        page = f"{first}## h f add\n\n### Options\n\nx\n\n### Pace\n\n{pace}\n\n"
        self.assertEqual(
            page.removesuffix(f"{pace}\n\n") + "The same as for [`h f`](#pace).\n\n", pages.without_repetitions(page)
        )
        other = page.replace("many\n\n## h", "few\n\n## h")
        self.assertEqual(other, pages.without_repetitions(other))


class BrowsersTest(unittest.TestCase):
    def test_a_figure_and_its_unit_and_a_range_stay_together(self):
        self.assertEqual(
            '<td title="1 s">5\u00a0%, 1.0–\u20602.0\u00a0ms [1\u00a0to\u00a02] and 3 small <code>4 s</code></td>',
            writing.for_browsers('<td title="1 s">5 %, 1.0–2.0 ms [1 to 2] and 3 small <code>4 s</code></td>'),
        )

    def test_an_option_is_not_broken(self):
        self.assertEqual(
            '<code>a <span class="option">--b-c</span> d-e <span class="option">-f</span></code>'
            '<code class="option">--g H</code>',
            writing.for_browsers("<code>a --b-c d-e -f</code><code>--g H</code>"),
        )

    def test_code_blocks_stay(self):
        block = "<pre><code>a --b\n--c\n</code></pre>"
        self.assertEqual(block, writing.for_browsers(block))

    def test_headings(self):
        self.assertEqual(
            '<h2 id="a">A::B</h2><h2 id="b">LongConstant::<wbr>Notifications::<wbr>C</h2>',
            writing.for_browsers('<h2 id="a">A::B</h2><h2 id="b">LongConstant::Notifications::C</h2>'),
        )
        self.assertEqual(
            '<h3 id="a" class="of-code"><code>a</code></h3><h3 id="b">Why <code>b</code>?</h3>',
            writing.for_browsers('<h3 id="a"><code>a</code></h3><h3 id="b">Why <code>b</code>?</h3>'),
        )


class QuestionsTest(unittest.TestCase):
    def found(self, text):
        section = {"location": "faq.html#a", "title": "A", "text": text}
        return list(questions.unanswered([section], {"a b": "faq.html#a"}))

    def test_a_section_with_all_words_answers(self):
        self.assertEqual([], self.found("So is B."))

    def test_a_section_without_a_word_does_not(self):
        self.assertEqual(["a b: faq.html#a does not say b"], self.found("C"))

    def test_a_section_that_is_not_there_does_not(self):
        self.assertEqual(["x: there is no section y"], list(questions.unanswered([], {"x": "y"})))


class CheckTest(unittest.TestCase):
    def found(self, page):
        with tempfile.TemporaryDirectory() as folder:
            site = Path(folder).resolve()
            (site / "other.html").write_text('<h2 id="there">There</h2>')
            (site / "index.html").write_text(page)
            return check.look(site)[0]

    def test_a_good_page_has_no_fault(self):
        self.assertEqual(
            [], self.found('<a href="other.html#there">a</a><a href="https://example.org/">b</a><a href="#">c</a>')
        )

    def test_a_page_that_is_not_there(self):
        self.assertEqual(["index.html: gone.html: is not there"], self.found('<a href="gone.html">a</a>'))

    def test_a_file_outside_of_the_site(self):
        self.assertEqual(
            ["index.html: ../../etc/hostname: is not there"], self.found('<a href="../../etc/hostname">a</a>')
        )

    def test_an_anchor_that_is_not_there(self):
        self.assertEqual(
            ["index.html: other.html#gone: has no such anchor"], self.found('<a href="other.html#gone">a</a>')
        )

    def test_an_anchor_may_be_encoded(self):
        self.assertEqual(
            [], self.found('<p id="a%3Cb">a</p><p id="é">b</p><a href="#a%3Cb">c</a><a href="#%C3%A9">d</a>')
        )

    def test_what_is_loaded_from_elsewhere(self):
        for page in (
            '<script src="//cdn.example/x.js"></script>',
            '<link rel="stylesheet" href="https://fonts.example/x">',
            "<img src=http://example.org/x>",
        ):
            self.assertRegex(self.found(page)[0], "loads .* from elsewhere")


class FormatsTest(unittest.TestCase):
    def test_a_key_that_the_schema_does_not_describe(self):
        run = formats.validator("run")
        self.assertTrue(formats.faults(run, "run", {"schema": 1}))
        record = {
            "n": 0,
            "line": 1,
            "outcome": "response",
            "ok": True,
            "attempts": 1,
            "ms": dict.fromkeys(("total", "resolve", "connect", "tls", "wait", "read"), 0.0),
        }
        valid = formats.validator("record")
        self.assertEqual([], formats.faults(valid, "record", record))
        self.assertTrue(formats.faults(valid, "record", {**record, "invented": 1}))
        self.assertTrue(formats.faults(valid, "record", {**record, "outcome": "invented"}))

    def test_an_object_that_has_one_of_several_keys(self):
        choice = [{"type": "object", "properties": {name: {}}, "required": [name]} for name in "ab"]
        valid = formats.fastjsonschema.compile(
            formats.closed({"type": "object", "properties": {"of all": {}}, "oneOf": choice})
        )
        self.assertEqual([], formats.faults(valid, "it", {"of all": 1, "b": 2}))
        self.assertTrue(formats.faults(valid, "it", {"of all": 1, "b": 2, "c": 3}))
        self.assertTrue(formats.faults(valid, "it", {"of all": 1}))


class WritingTest(unittest.TestCase):
    def test_a_list_right_after_a_paragraph(self):
        self.assertEqual("Two:\n\n- a\n- b\n\n```\nx\n- y\n```", writing.lists("Two:\n- a\n- b\n\n```\nx\n- y\n```"))

    def test_a_list_inside_a_list(self):
        self.assertEqual(
            "- a\n    - b\n  more\n        - c\n    - d\n- e\n\n1. f\n    - g",
            writing.lists("- a\n  - b\n  more\n    - c\n  - d\n- e\n\n1. f\n   - g"),
        )
        self.assertEqual("- a\n\ntext\n\n- b", writing.lists("- a\n\ntext\n  - b"))

    def test_links_out_of_docs(self):
        links = "[a](../ARCHITECTURE.md#parts) [b](../ruby/test) [c](faq.md) [d](results/x/) `[e](../ruby)`"
        site = Files("project/ARCHITECTURE.md", "faq.md", "results/x/report.html")
        expected = "[a](project/ARCHITECTURE.md#parts) b [c](faq.md) [d](results/x/report.html) `[e](../ruby)`"
        self.assertEqual(expected, writing.links(links, "index.md", formats.ROOT, site))

    def test_a_link_to_a_run_leads_to_its_page(self):
        site = Files("results/index.html", "results/x/report.html", "results/x/README.md", "results/y/README.md")
        links = "[a](results/README.md) [x](results/x/README.md) [y](results/y/README.md)"
        expected = "[a](results/index.html) [x](results/x/report.html) [y](results/y/README.md)"
        self.assertEqual(expected, writing.links(links, "index.md", formats.ROOT, site))

    def test_a_chart_has_a_copy_for_dark_pages(self):
        site = Files("images/a-light.svg", "images/a-dark.svg", "images/b.svg")
        self.assertEqual(
            "![a](images/a-light.svg){ .on-light }![a](images/a-dark.svg){ .on-dark } ![b](images/b.svg)",
            writing.links("![a](images/a-light.svg) ![b](images/b.svg)", "index.md", formats.ROOT, site),
        )

    def test_a_link_to_what_is_not_there_is_warned_of(self):
        with self.assertLogs("mkdocs.hooks.writing", "WARNING"):
            writing.links("[a](../invented)", "index.md", formats.ROOT, Files())


if __name__ == "__main__":
    unittest.main()
