# The gem's README with the pages that it links to. Links lead to their place in the gem; a link to a file that is not
# in the gem becomes its text.
require "fileutils"
require "pathname"

class Readme
  LINK = /(?<image>!?)\[(?<text>[^\]]*)\]\((?<target>[^)\s]+)\)/
  # Text in code that looks like a link is skipped.
  TOKEN = /^```.*?^```|`[^`]*`|#{LINK}/m

  # The relative links in a text: what each leads to, without the part after "#".
  def self.links(text)
    text.to_enum(:scan, TOKEN).filter_map { Regexp.last_match[:target] }.grep_v(/\A(#|\w+:)/).map { |target|
      target.sub(/#.*/, "")
    }
  end

  def initialize(repository, folder)
    @repository = repository
    @folder = folder
    @written = {}
  end

  # Pages that the gem's errors name are included too.
  PAGES = %w[ruby/README.md docs/installing.md].freeze

  # ruby/README.md is README.md in the gem, and docs/ is where it is in the repository.
  def write = PAGES.each { |path| page(path) if File.exist?(File.join(@repository, path)) }

  private

  def page(path)
    return if @written[path]

    @written[path] = true
    to = File.join(@folder, within(path))
    FileUtils.mkdir_p(File.dirname(to))
    File.write(to, File.read(File.join(@repository, path)).gsub(TOKEN) {
      Regexp.last_match[:target] ? link(path, Regexp.last_match) : Regexp.last_match[0]
    })
  end

  def link(path, match)
    target, anchor = match[:target].split("#", 2)
    return match[0] if target.empty? || target.match?(/\A\w+:/)

    leads_to = File.expand_path(target, "/#{File.dirname(path)}").delete_prefix("/")
    return match[:text] unless packed?(leads_to)

    page(leads_to) if leads_to.end_with?(".md")
    relative = Pathname.new(within(leads_to)).relative_path_from(File.dirname(within(path)))
    "#{match[:image]}[#{match[:text]}](#{[relative, anchor].compact.join("#")})"
  end

  # The pages of docs/ themselves, not what they rest on, and what the gem has anyway.
  def packed?(path)
    File.exist?(File.join(@repository, path)) &&
      path.match?(%r{\A(docs/[^/]+\.md|ruby/(README\.md|(lib|sig|examples)(/.*)?)|LICENSE-\w+|CHANGELOG\.md)\z})
  end

  def within(path) = path.delete_prefix("ruby/")
end
