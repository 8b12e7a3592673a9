# The cells of a table in Markdown, with their links and code: rdoc of Ruby 3.1 shows them as they are written.
require "rdoc"
require "rdoc/markdown"

module Cells
  # Writes a table.
  def accept_table(header, body, _alignment)
    rows = body.map { |cells| row("td", cells) }
    @res << "<table role=\"table\">\n<thead>#{row("th", header)}</thead>\n"
    @res << "<tbody>\n#{rows.join("\n")}\n</tbody>\n</table>\n"
  end

  private

  def row(tag, cells) = "<tr>#{cells.map { |cell| "<#{tag}>#{inline(cell)}</#{tag}>" }.join}</tr>"

  # A cell is at most one paragraph; one that would begin a list or a heading stays text.
  def inline(cell)
    paragraph = RDoc::Markdown.parse(cell).parts.first
    paragraph.is_a?(RDoc::Markup::Paragraph) ? to_html(paragraph.text) : CGI.escapeHTML(cell)
  end

  RDoc::Markup::ToHtml.prepend(self)
end
