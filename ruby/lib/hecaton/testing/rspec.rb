# Hecaton::Testing for RSpec: stubs are forgotten after each example.
require "rspec/core"
require_relative "stubs"

# Runs around each example, so that the example's own hooks may still send requests.
RSpec.configure do |config|
  config.around do |example|
    example.run
  ensure
    Hecaton::Testing.reset
  end
end
