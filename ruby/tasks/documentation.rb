# The documentation by rdoc: what of the public surface has none, and the pages.
require "rdoc/rdoc"
require "fileutils"
require "stringio"
require_relative "endless"
require_relative "cells"

class Documentation
  # Its look in the dark and on telephones, which rdoc has not.
  STYLE = File.join(__dir__, "documentation.css")

  # The pages of a folder with lib/, README.md and docs/, written to another.
  def initialize(from, to)
    [@to = to, @copy = "#{to}.source"].each { |folder| FileUtils.rm_rf(folder) }
    files = Dir.chdir(from) { Dir["README.md", "docs/**/*.md", "lib/**/*.rb"] }
    files.each { |file| self.class.readable(File.join(from, file), File.join(@copy, file)) }
    settings = %W[--quiet --visibility=public --title Hecaton --main README.md --output #{to}]
    settings += ["--template-stylesheets", STYLE]
    @rdoc = RDoc::RDoc.new
    @warnings = complaints { Dir.chdir(@copy) { @rdoc.document([*settings, *files]) } }
  end

  # A copy of the file that this rdoc understands.
  def self.readable(file, copy)
    FileUtils.mkdir_p(File.dirname(copy))
    text = File.read(file)
    File.write(copy, file.end_with?(".rb") ? Endless.rewrite(coded(text)) : labelled(text))
  end

  # A program whose comments have code for rdoc's own markup, which knows no backticks.
  def self.coded(program)
    program.gsub(/^ *#.*$/) { |comment| comment.gsub(/`([^`]+)`/, '<code>\\1</code>') }
  end

  # A page whose links to its own headings lead to what rdoc calls them, and whose tables rdoc takes for tables.
  def self.labelled(page)
    labels = page.scan(/^#+ (.+)$/).flatten.to_h do |heading|
      [heading.downcase.gsub(/[^\p{Word}\- ]/, "").tr(" ", "-"), "label-#{RDoc::Markup::ToLabel.new.convert(heading)}"]
    end
    linked = page.gsub(/\]\(#([^)]+)\)/) { "](##{labels.fetch(Regexp.last_match[1]) { |name| name }})" }
    linked.gsub(/^\|[-:| ]+\|$/) { |line| line.delete(" ") }
  end

  # rdoc's complaints, a line each.
  attr_reader :warnings

  # Each class, module, constant, attribute and public method without a comment: "file:line name".
  def missing
    things.reject { |thing| documented?(thing) }.map { |thing| "#{place(thing)} #{thing.full_name}" }.sort
  end

  # Links, tables and code that the pages show as they are written: "page shows …".
  def raw
    Dir.glob("**/*.html", base: @to).flat_map do |page|
      text = File.read(File.join(@to, page)).gsub(%r{<(pre|code)\b.*?</\1>|<!--.*?-->}m, "")
      text.scan(/\}\[\S+\]|\| (?:—|-{3,}) \||[`‘][^`’<>]+`/).map { |markup| "#{page} shows #{markup}" }
    end
  end

  # How many things there are to say something of.
  def size = things.size

  private

  def things
    @things ||= @rdoc.store.all_classes_and_modules.flat_map do |owner|
      [owner, *owner.constants, *owner.attributes, *owner.method_list].select { |thing| shown?(thing) }
    end
  end

  def shown?(thing)
    return false if !thing.display? || (thing.respond_to?(:visibility) && thing.visibility != :public)

    !(thing.is_a?(RDoc::AnyMethod) && private_function?(thing))
  end

  # After `module_function` a method is the module's own, and rdoc takes it for a public one although
  # `private_class_method` names it, or stands before it.
  def private_function?(method)
    return false if method.singleton || !method.line

    lines = File.readlines(File.join(@copy, method.file.full_name))
    lines.first(method.line).grep(/^\s*module_function$/).any? &&
      lines.grep(/^\s*private_class_method\b.*(?::|def )#{Regexp.escape(method.name)}(?![\w?!=])/).any?
  end

  # An alias has the comment of its target. A class needs none if its `initialize` has one. A module of another library
  # that is opened for something inside is documented by that library.
  def documented?(thing)
    return true if thing.documented?
    return thing.method_list.empty? && !thing.full_name.include?("Hecaton") if thing.is_a?(RDoc::ClassModule)
    return false unless thing.is_a?(RDoc::MethodAttr)

    thing.is_alias_for&.documented? || (thing.name == "new" && thing.parent.documented?)
  end

  def place(thing)
    file = thing.respond_to?(:in_files) ? thing.in_files.first : thing.file
    [file&.relative_name, (thing.line if thing.respond_to?(:line))].compact.join(":")
  end

  # rdoc warns on stderr, whatever its options are.
  def complaints
    said, $stderr = $stderr, StringIO.new
    yield
    $stderr.string.lines.map(&:chomp).reject(&:empty?)
  ensure
    $stderr = said
  end
end
