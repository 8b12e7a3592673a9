# The signatures in sig/ name what lib/ has: no more, no less, and with the same parameters.
require "test_helper"
require "open3"
require "signatures"

class SignatureTest < Minitest::Test
  def test_they_are_valid
    # In a process of its own: the parser of RBS 2.1 reads freed memory once GC.compact, which other tests
    # call, has moved objects.
    validate = "RBS::CLI.new(stdout: $stdout, stderr: $stderr).run(ARGV)"
    said, status =
      Open3.capture2e(RbConfig.ruby, "-rrbs", "-rrbs/cli", "-e", validate, "--", "--log-level", "info", "-I",
        Signatures::FOLDER, "validate")
    assert_predicate status, :success?, said
    assert_includes said, "`::Hecaton::Client`"
  end

  # Adapters and drop-ins have none.
  def test_a_file_for_each_file
    written = Dir["#{Signatures::FOLDER}/**/*.rbs"].map { |path|
      path.delete_prefix("#{Signatures::FOLDER}/").delete_suffix(".rbs")
    }
    assert_equal Signatures.files.sort, written.sort
  end

  def test_the_same_classes_and_modules
    assert_equal Signatures.modules.map(&:name).sort, names(Signatures.environment.class_decls)
  end

  def test_the_same_constants
    real = Signatures.modules.flat_map do |owner|
      owner.constants(false).reject { |name| owner.const_get(name).is_a?(Module) }.map { |name| "#{owner}::#{name}" }
    end
    assert_equal real.sort, names(Signatures.environment.constant_decls)
  end

  def test_the_same_public_methods
    each_side do |kind, owner|
      written = Signatures.written(kind, owner).keys - [:initialize]
      assert_equal Signatures.real(kind, owner).sort, written.sort, "#{kind} methods of #{owner}"
    end
  end

  def test_the_same_parameters
    each_side do |kind, owner|
      Signatures.written(kind, owner).each do |name, method|
        real = (kind == :instance ? owner.instance_method(name) : owner.method(name)).parameters
        next if real == [[:rest]] # Written in C and free to take anything: the initialize of a Struct.
        next check_options(method, name) if real.include?(%i[opt options]) ||
                                            real.include?(%i[keyrest options]) || real.include?(%i[keyrest changes])

        method.method_types.each { |type| assert_equal shape_of(real), shape(type.type), "#{kind} #{owner} #{name}" }
      end
    end
  end

  # Classes and methods marked `:nodoc:` are for the gem itself: rdoc shows all others, and demands comments of them.
  def test_documents_name_nothing_that_is_for_the_gem_itself
    library = Dir["#{Signatures::LIBRARY}/hecaton/**/*.rb"].map { |file| File.read(file) }.join
    internal = library.scan(/^ *(?:class|module) (\w+)\b.* # :nodoc:/).flatten
    assert_includes internal, "RequestBuilder"
    root = File.expand_path("../..", __dir__)
    documents = Dir["#{root}/README.md", "#{root}/{docs,ruby}/*.md"].map { |file| File.read(file) }.join
    assert_empty internal & documents.scan(/\bHecaton::(\w+)/).flatten
    old = /^ *# For (?:adapters|features|the (?:batch|client|engine)|[A-Z]\w+)[:,.](?:.*\n *#)*.*\n *(?:def|attr)/
    refute_match old, library
  end

  private

  # Verbs take the options of a request as one Hash, which is nil, and no object, where there are none.
  def check_options(method, name)
    known = Hecaton::Settings::OF_REQUESTS +
            %i[queue client timeout concurrency per_origin rate resume http_method url progress]
    named = method.method_types.flat_map { |type| type.type.required_keywords.keys + type.type.optional_keywords.keys }
    assert_empty named - known, name
  end

  def each_side(&block) = Signatures.modules.product(%i[instance singleton]) { |owner, kind| block.call(kind, owner) }

  def names(declarations) = declarations.keys.map { |name| name.to_s.delete_prefix("::") }.grep(/\AHecaton\b/).sort

  # How many positional parameters, which keywords; of both the required ones and the optional ones.
  def shape(type)
    [type.required_positionals.size, type.optional_positionals.size,
     type.required_keywords.keys.sort, type.optional_keywords.keys.sort]
  end

  def shape_of(parameters)
    named = ->(kind) { parameters.filter_map { |given, name| name if given == kind } }
    [parameters.count { |kind, _| kind == :req }, parameters.count { |kind, _| kind == :opt },
     named[:keyreq].sort, named[:key].sort]
  end
end
