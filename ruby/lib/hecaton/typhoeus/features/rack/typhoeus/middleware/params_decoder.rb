# What `require "rack/typhoeus/middleware/params_decoder"` finds where Hecaton stands in for Typhoeus.
require "hecaton/typhoeus/params_decoder"
