# The file that `require "rack/typhoeus"` finds where Hecaton stands in for Typhoeus.
require_relative "../../params_decoder"
