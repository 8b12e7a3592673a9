# Runs the same Ruby with the original Typhoeus and with the drop-in, each in a process of its own.
require "test_helper"
require "open3"
require "tempfile"

# Cases are snippets of Ruby that print; `url` in them is the test server's, or whatever else they are given.
module Both
  LIB = File.expand_path("../../../lib", __dir__)
  LIBRARIES = { original: ["-rtyphoeus"], dropin: ["-I#{LIB}", "-rhecaton/typhoeus"] }.freeze
  MARK = "\0case "
  # So that both can be reached at a name, and no proxy of the environment is in the way.
  ENVIRONMENT = %w[http_proxy https_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY].to_h { |name| [name, nil] }.freeze

  module_function

  # {case => output} of one library. prelude is Ruby before all of them; names: {name => value} that they see.
  def run(library, cases, prelude: "", **names)
    script = Tempfile.new(["cases", ".rb"])
    script.write("require %(json)\n$stdout.sync = true\n")
    script.write(names.map { |name, value| "def #{name} = #{value.inspect}\n" }.join)
    script.write(prelude)
    cases.each do |name, code|
      script.write("puts #{(MARK + name.to_s).inspect}\nbegin\n " \
        " lambda do\n#{code}\n  end.call\nrescue StandardError => error\n" \
        "  puts error.class, error.message.lines.first\nend\n")
    end
    script.close
    output, complaint, status = Open3.capture3(ENVIRONMENT, RbConfig.ruby, *LIBRARIES.fetch(library), script.path)
    raise "#{library}: #{complaint}#{output[-500..]}" unless status.success?

    output.split(MARK).drop(1).to_h { |part| part.split("\n", 2) }
  ensure
    script&.unlink
  end

  # Both, side by side: {case => [original's, drop-in's]}.
  def compare(cases, **options)
    original, dropin = LIBRARIES.keys.map { |library| Thread.new { run(library, cases, **options) } }.map(&:value)
    original.to_h { |name, output| [name, [output, dropin[name]]] }
  end
end
