# The file that `require "rack/typhoeus/middleware/params_decoder"` finds where Hecaton stands in for Typhoeus.
require_relative "../../../../params_decoder"
