# Loads the compiled engine: a gem for a platform has one inside for each Ruby, one that was compiled here has one for
# this Ruby.
abi = RUBY_VERSION[/\A\d+\.\d+/]
inside = Dir["#{__dir__}/[0-9]*.[0-9]*/hecaton_native.{so,bundle}"].map { |path| File.basename(File.dirname(path)) }
begin
  inside.include?(abi) ? require_relative("#{abi}/hecaton_native") : require("hecaton/hecaton_native")
rescue LoadError => error
  compile = "install the gem that compiles it, " \
    "`gem install hecaton --platform ruby` (docs/installing.md says what that needs)"
  reason =
    if error.path != "hecaton/hecaton_native" then "cannot be loaded on this machine, #{compile}: #{error.message}"
    elsif inside.any?
      "is not in this gem, which has it for Ruby #{inside.sort.join(", ")}: use one of these, or #{compile}"
    else "is not compiled: in a checkout run bin/setup; " \
      "otherwise install the gem again, and read what it says if that fails"
    end
  raise LoadError, "Hecaton's engine for Ruby #{abi} (#{RUBY_PLATFORM}) #{reason}", cause: error
end
