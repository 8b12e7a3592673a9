# The public interface of the engine's crate is the one that crates/hecaton/interface.txt lists.
# The list is read from rustdoc's pages, which the step `docs` of bin/test has made in target/doc.
# After a change: HECATON_UPDATE=1 bin/test docs
require "cgi"
require "minitest/autorun"

# One page of rustdoc: an item, its fields or variants, its methods, and the traits that it implements.
class Page
  # Traits that the compiler implements by itself, and that programs rely on.
  OF_COMPILER = /\Aimpl(<.*>)? !?(Send|Sync) for /
  UNSTABLE = /\bStructuralPartialEq for /
  ITEM = %r{<section id="[^"]*" class="([^"]*)">.*?<h[34] class="code-header">(.*?)</h[34]>}m

  def initialize(html, crate)
    @head, @declaration, @rest = html.partition(%r{<pre class="rust item-decl">.*?</pre>}m)
    @rest = @rest.sub(/<h2 id="blanket-implementations".*/m, "")
    @crate = crate
  end

  def lines
    # Rustdoc shows an item of another crate, such as `http::Method`, as if it were of this one.
    return [declaration.first, "    (of another crate)"] unless @head.include?(%(href="../src/#{@crate}/))

    declaration + implementations.flat_map { |header, items| [header, *items.map { |item| "    #{item}" }] }
      .map { |line| "    #{line}" }
  end

  private

  # A line for each field, variant or method, however rustdoc breaks it.
  def declaration
    code = text(@declaration.sub(%r{<summary.*?</summary>}m, ""))
    joined = code.gsub(/\n {8,}/, " ").gsub(/,?\n {4}\)/, ")").gsub(/,?\n {4}\}/, " }").gsub("( ", "(")
    joined.strip.lines(chomp: true).map { |line| line.sub(/(?<=\S) +/, " ").rstrip }.reject(&:empty?)
  end

  # The contents of each `impl`. Methods of other traits are known with the trait; types that belong to a trait are not.
  def implementations
    written, of_compiler = @rest.split('<h2 id="synthetic-implementations"')
    blocks(written).reject { |header, _| header.match?(UNSTABLE) } +
      blocks(of_compiler).select { |header, _| header.match?(OF_COMPILER) }
  end

  def blocks(html)
    html.to_s.scan(ITEM).each_with_object([]) do |(kind, code), found|
      known_with_trait = kind.include?("trait-impl") && !kind.start_with?("associatedtype")
      if kind == "impl" then found << [one_line(code), []]
      elsif found.any? && !known_with_trait then found.last.last << one_line(code)
      end
    end
  end

  def one_line(code) = text(code).gsub(/\s+/, " ").gsub("( ", "(").gsub(/,? \)/, ")").strip

  # The sign marks a type whose traits a tooltip shows.
  def text(html)
    CGI.unescapeHTML(html.gsub(%r{</?div[^>]*>}, " ").gsub(/<[^>]*>/, "").gsub("&nbsp;", " ")).delete("ⓘ")
  end
end

# All public items of a crate, in the order of rustdoc's page of all items.
class Interface
  def initialize(folder)
    @folder = folder
    @crate = File.basename(folder)
  end

  def to_s
    names = File.read("#{@folder}/all.html").scan(/<a href="((?:\w+\/)*\w+\.\w+\.html)">/).flatten
    # A macro by example without `#[macro_export]` has a page too.
    pages = names.grep_v(/\Amacro\./).map { |name| Page.new(File.read("#{@folder}/#{name}"), @crate) }
    pages.map { |page| "#{page.lines.join("\n")}\n" }.join("\n")
  end
end

class InterfaceTest < Minitest::Test
  ROOT = File.expand_path("..", __dir__)
  LIST = "#{ROOT}/crates/hecaton/interface.txt".freeze
  HINT = "The engine's public interface changed. If it was meant to, run HECATON_UPDATE=1 bin/test docs, " \
         "keep the list with the change, and say in CHANGELOG.md what breaks.".freeze

  def test_the_list_is_the_crates_interface
    found = Interface.new("#{ROOT}/target/doc/hecaton").to_s
    File.write(LIST, found) if ENV["HECATON_UPDATE"]
    assert_equal File.read(LIST), found, HINT
  end

  PAGE = <<~HTML.freeze
    <h1>Struct Seat</h1><a class="src" href="../src/hecaton/seat.rs.html#1">Source</a>
    <pre class="rust item-decl"><code>pub struct Seat {<details><summary>Show 1 field</summary>
        pub row: <a href="u8.html">u8</a>,
    </details>}</code></pre>
    <section id="impl-Seat" class="impl"><h3 class="code-header">impl Seat</h3></section>
    <section id="method.take" class="method"><h4 class="code-header">pub fn take(
        &amp;self,
        who: &amp;str,
    ) -&gt; bool</h4></section>
    <section id="impl-Clone" class="impl"><h3 class="code-header">impl Clone for Seat</h3></section>
    <section id="method.clone" class="method trait-impl"><h4 class="code-header">fn clone(&amp;self) -&gt; Seat</h4></section>
    <h2 id="synthetic-implementations">Auto Trait Implementations</h2>
    <section id="impl-Send" class="impl"><h3 class="code-header">impl !Send for Seat</h3></section>
    <section id="impl-Unpin" class="impl"><h3 class="code-header">impl Unpin for Seat</h3></section>
    <h2 id="blanket-implementations">Blanket Implementations</h2>
    <section id="impl-Any" class="impl"><h3 class="code-header">impl&lt;T&gt; Any for T</h3></section>
  HTML

  def test_a_page_becomes_a_line_for_each_thing_that_a_program_can_use
    assert_equal <<~LIST.lines(chomp: true), Page.new(PAGE, "hecaton").lines
      pub struct Seat {
          pub row: u8,
      }
          impl Seat
              pub fn take(&self, who: &str) -> bool
          impl Clone for Seat
          impl !Send for Seat
    LIST
    assert_equal "    (of another crate)", Page.new(PAGE, "other").lines.last
  end
end
