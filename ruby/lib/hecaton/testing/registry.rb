# The registered stubs, which Hecaton consults for each request.

module Hecaton::Testing
  # There is one, Testing's own. Known to Interception.bypass as :testing.
  class Registry < Hecaton::Interception::Interceptor
    WHY = { method: "another method", url: "another URL", query: "another query",
            headers: "other headers", body: "another body" }.freeze
    private_constant :WHY

    # Array.
    attr_reader :allowed_hosts

    def initialize
      super(:testing)
      @lock = Mutex.new
      @allowed_hosts = []
      reset
    end

    # Adds a Stub before the others, and returns it.
    def add(stub)
      @lock.synchronize { @stubs = [stub, *@stubs] }
      stub
    end

    # Forgets all stubs and requests.
    def reset
      @lock.synchronize { @stubs, @requests, @unmatched = [], [], [] }
      nil
    end

    # Array of Stub, the newest first.
    def stubs = @lock.synchronize { @stubs }
    # Array of Interception::Request: all requests, in order.
    def requests = @lock.synchronize { @requests.dup }
    # Array of Interception::Request: requests without a matching stub.
    def unmatched = @lock.synchronize { @unmatched.dup }

    # Hosts that may receive real requests.
    def allowed_hosts=(hosts)
      unless hosts.is_a?(Array) && hosts.all? { |host| host.is_a?(String) || host.is_a?(Regexp) }
        raise ArgumentError,
          "allowed_hosts is #{hosts.inspect}: give an Array of Strings such as \"127.0.0.1\", and Regexps"
      end

      @allowed_hosts = hosts
    end

    # As Interceptor's.
    def respond(request)
      stubs = @lock.synchronize { (@requests << request) && @stubs }
      stubs.find { |stub| stub.mismatch(request).nil? }&.respond(request)
    end

    # As Interceptor's.
    def refuse(request)
      return if allowed?(request.url)

      stubs = @lock.synchronize { (@unmatched << request) && @stubs }
      url = request.url.sub(/\?.*\z/m, "")
      UnmatchedRequest.new(message(request, stubs), phase: :queue, sent: false, url: url)
    end

    private

    def allowed?(url)
      authority = url[%r{\Ahttps?://([^/?#]*)}, 1]
      host = authority.sub(/:\d+\z/, "")
      @allowed_hosts.any? do |allowed|
        next allowed.match?(url) if allowed.is_a?(Regexp)

        allowed = allowed.downcase
        allowed.start_with?("*.") ? host.end_with?(allowed[1..]) :
          [host, authority, host.delete("[]")].include?(allowed)
      end
    end

    def message(request, stubs)
      text = "no stub matches #{request}, and its host is not among Hecaton::Testing.allowed_hosts."
      if stubs.empty?
        return "#{text} There are no stubs: " \
          "add Hecaton.stub(:#{request.http_method.downcase}, #{request.url.inspect}) { … }"
      end

      "#{text} The stubs are:\n" +
        stubs.map { |stub| "  #{stub} (#{WHY.fetch(stub.mismatch(request), "added since")})" }.join("\n")
    end
  end
end
