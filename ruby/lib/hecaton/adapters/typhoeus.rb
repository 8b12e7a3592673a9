# Hecaton instead of Typhoeus: defines the constant Typhoeus, with Typhoeus' own interface.
#
#   require "hecaton/typhoeus"   # instead of: require "typhoeus"
#
# A later `require "typhoeus"` (WebMock's adapter and VCR's hook do so) finds it loaded.
# `require "hecaton/typhoeus/module"` brings the same thing as Hecaton::Typhoeus without the constant, beside the
# original if need be.
#
# Raises RuntimeError when the original, or something else, already has the name.
if defined?(Typhoeus) && !(defined?(Hecaton::Typhoeus) && Typhoeus.equal?(Hecaton::Typhoeus))
  raise "hecaton/typhoeus: the constant Typhoeus is taken, by the original typhoeus it seems: " \
    "take that out of the Gemfile and require hecaton/typhoeus before whatever requires typhoeus, " \
    "or use Hecaton::Typhoeus from hecaton/typhoeus/module"
end

# Named here first, so that its classes are called Typhoeus::Request and the like, as they are in logs, caches and keys.
module Typhoeus
end unless defined?(Typhoeus) || defined?(Hecaton::Typhoeus)

# See lib/hecaton.rb.
module Hecaton
  # The same thing as the constant Typhoeus.
  Typhoeus = ::Typhoeus unless const_defined?(:Typhoeus, false)
end

require_relative "typhoeus/module"

# Hecaton's drop-in under the original's name.
Typhoeus = Hecaton::Typhoeus unless defined?(Typhoeus)

# Files of the original that count as loaded from here on.
%w[typhoeus typhoeus/cache/dalli typhoeus/cache/rails typhoeus/cache/redis typhoeus/config typhoeus/easy_factory
   typhoeus/errors typhoeus/expectation typhoeus/hydra typhoeus/pool typhoeus/request typhoeus/response
   typhoeus/version].each do |feature|
  $LOADED_FEATURES << "#{feature}.rb" unless $LOADED_FEATURES.include?("#{feature}.rb")
end

# These files load only on require: without Rack nobody should find the constant.
$LOAD_PATH.unshift(File.expand_path("typhoeus/features", __dir__))
require "rack/typhoeus" if defined?(Rack)
