# The helpers that the tests of Faraday's adapter share.
require "test_helper"
require_relative "server"
require "hecaton/faraday"
require "tempfile"
require "timeout"

class FaradayTest < ServerTest
  TWO = Faraday::VERSION.to_i >= 2

  def teardown = (@servers || []).each(&:stop)

  # A Server that is stopped at the end of the test.
  def server(context = nil, &handler)
    (@servers ||= []) << (server = Server.new(context, &handler))
    server
  end

  # A Faraday::Connection on an adapter, with what the block says of its middlewares.
  def connection(url = real_server.url, adapter = [:hecaton], **options)
    Faraday.new(url, options) do |faraday|
      yield faraday if block_given?
      name, settings = adapter
      settings ? faraday.adapter(name, **settings) : faraday.adapter(name)
    end
  end

  # The request that /echo of the test server received.
  def seen(response)
    reported = JSON.parse(response.body)
    reported.merge("headers" => reported["headers"].to_h.transform_keys(&:downcase))
  end
end
