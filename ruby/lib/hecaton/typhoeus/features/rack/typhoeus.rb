# What `require "rack/typhoeus"` finds where Hecaton stands in for Typhoeus.
require "hecaton/typhoeus/params_decoder"
