# Stubs for tests, under the name that programs require.
require_relative "testing/stubs"
