# Methods that programs override, as they may with the original.

module Hecaton::Typhoeus
  # Extends a class that has OVERRIDABLE, names of methods, and Openly, a module.
  #
  # A request in a hydra is quick because some methods through which it passes in the original are not called. A class
  # that overrides one of them gets Openly, which calls them all. Other classes stay as quick.
  module Overrides
    # See Module.
    def method_added(name)
      super
      go_openly if self::OVERRIDABLE.include?(name)
    end

    # See Module.
    def include(*modules)
      super
      look_at(modules)
      self
    end

    # See Module.
    def prepend(*modules)
      super
      look_at(modules)
      self
    end

    private

    def look_at(modules)
      go_openly if self::OVERRIDABLE.any? { |name| modules.any? { |each| each.method_defined?(name) } }
    end

    def go_openly = prepend(self::Openly)
  end
end
