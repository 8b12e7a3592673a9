# The command `call` of drivers that use Faraday: one connection with an adapter's own defaults.
require "faraday"
require_relative "kit"

module Kit
  def self.faraday_calls(adapter)
    calls(*%w[method body fields timeout raw-url]) do |call|
      faraday = call.client { Faraday.new { |with| with.adapter(adapter) } }
      response = faraday.run_request(call.method.downcase.to_sym, call.url, call.body, call.fields) do |request|
        request.options.timeout = call.timeout
      end
      raise(response.env[:typhoeus_return_message] || "no status") if response.status.zero?

      [response.status, response.body]
    end
  end
end
