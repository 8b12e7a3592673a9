# WebMock's adapter for Hecaton, under the name that programs require.
require_relative "testing/webmock"
