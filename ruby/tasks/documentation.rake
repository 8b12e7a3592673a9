# rake doc: the pages of the gem's documentation by rdoc, in target/rdoc; fails when rdoc warns or shows
# markup as it is written, and when something public has no comment.
desc "Write the documentation by rdoc into target/rdoc; fails on a warning, on markup that is shown raw, " \
     "and on whatever is public and has no comment"
task :doc do
  require_relative "stage"
  require_relative "documentation"
  Stage.new("#{TARGET}/rdoc-of")
  documentation = Documentation.new("#{TARGET}/rdoc-of", "#{TARGET}/rdoc")
  missing = documentation.missing.map { |thing| "ruby/#{thing} has no comment" }
  faults = documentation.warnings + documentation.raw + missing
  abort [*faults, "#{faults.size} faults in the documentation"].join("\n") if faults.any?
  puts "#{documentation.size} classes, modules, constants, attributes and public methods, all with a comment: " \
    "target/rdoc/index.html"
end
