# Hecaton::Typhoeus without the constant Typhoeus, under the name that programs require.
require_relative "../adapters/typhoeus/module"
