# The signatures in sig/, and the gem's own methods, in forms that can be compared.
require "rbs"
require "hecaton"
require "hecaton/interception/run"

# The methods that a class or module has by itself. Inherited and included methods are listed where they come from.
module Signatures
  FOLDER = File.expand_path("../sig", __dir__)
  # The methods that Struct.new gives to every class it makes, which sig/ has at Struct itself.
  STRUCTS_OWN = Struct.new(:any, keyword_init: true).singleton_methods(false)

  LIBRARY = File.expand_path("../lib/", __dir__)

  module_function

  # The gem's own files, without suffix: those that are loaded by it, or by what it loads only in tests.
  def files
    @files ||= begin
      script = 'require "hecaton"; require "hecaton/interception/run"; puts $LOADED_FEATURES'
      loaded = IO.popen([RbConfig.ruby, "-I#{LIBRARY}", "-e", script], &:readlines).map(&:chomp)
      loaded.grep(/\A#{Regexp.escape(LIBRARY)}\/.*\.rb\z/).map { |path|
        path.delete_prefix("#{LIBRARY}/").delete_suffix(".rb")
      }
    end
  end

  # Every class and module of the gem.
  def modules(from = Hecaton)
    inner = from.constants(false).map { |name| from.const_get(name) }.grep(Module)
    [from, *inner.flat_map { |found| modules(found) }]
  end

  # {name => RBS's method}; kind is :instance or :singleton.
  def written(kind, owner)
    type = RBS::Factory.new.type_name("::#{owner.name}")
    own = builder.public_send("build_#{kind}", type).methods.select { |_, method| method.implemented_in == type }
    # RBS derives a `new` from each `initialize`.
    own.reject { |name, method| name == :new && method.defs.first.member.name == :initialize }
  end

  # Names of the methods that others may call.
  def real(kind, owner)
    return owner.public_instance_methods(false) if kind == :instance

    owner.singleton_methods(false) - (owner < Struct ? STRUCTS_OWN : [])
  end

  # Whether calls of the method pass the run-time checker.
  def checked?(kind, owner, name)
    method = kind == :instance ? owner.instance_method(name) : owner.method(name)
    method.source_location.to_a.first.to_s.end_with?("rbs/test/hook.rb")
  end

  def environment
    @environment ||= begin
      loader = RBS::EnvironmentLoader.new
      loader.add(path: Pathname(FOLDER))
      RBS::Environment.from_loader(loader).resolve_type_names
    end
  end

  # Read before any test runs: once GC.compact has moved objects, the parser of RBS 2.1 reads freed memory.
  environment

  def builder = @builder ||= RBS::DefinitionBuilder.new(env: environment)
end
