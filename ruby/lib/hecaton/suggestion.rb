# Names the keyword that a misspelt one, or one of another library, probably means.
module Hecaton
  # In front of Client.new: its ArgumentError for an unknown keyword suggests a setting.
  module Suggestion # :nodoc: all
    # Names in other libraries, and the setting or option of Hecaton.
    ELSEWHERE = {
      "open_timeout" => :connect_timeout, "connection_timeout" => :connect_timeout, "write_timeout" => :send_timeout,
      "headers_timeout" => :first_byte_timeout,
      "ssl_timeout" => :tls_timeout, "total_timeout" => :timeout, "request_timeout" => :timeout,
      "keep_alive_timeout" => :idle_timeout, "url" => :base_url, "base_uri" => :base_url, "prefix_url" => :base_url,
      "pool_size" => :per_origin, "follow_redirects" => :redirects, "followlocation" => :redirects,
      "max_redirects" => :redirects, "retries" => :retry, "max_retries" => :retry, "verify_ssl" => :verify,
      "ssl_verify" => :verify, "verify_mode" => :verify, "ca_file" => :ca, "ssl_ca_file" => :ca, "token" => :bearer,
      "auth" => :basic_auth, "userpwd" => :basic_auth, "authorization" => :bearer, "query" => :params,
      "payload" => :body, "data" => :body, "header" => :headers
    }.freeze
    private_constant :ELSEWHERE

    def new(*arguments, **settings)
      return Suggestion.around(settings) { super } if arguments.empty?

      raise ArgumentError, "the settings are of class #{arguments.map(&:class).join(" and ")}: " \
        "give keywords, such as timeout: and base_url:"
    end

    # Runs the block, which gives these keywords to Client#initialize.
    def self.around(settings)
      yield
    rescue ArgumentError => error
      unknown = settings.keys - Settings::NAMES
      raise if unknown.empty? || !error.message.match?(/\A(?:unknown|missing) keyword/)

      # A misspelt `timeout` is missing too, and that alone would hide the mistake.
      names = "unknown keyword#{"s" if unknown.size > 1}: #{unknown.map(&:inspect).join(", ")}"
      raise ArgumentError, names + of_setting(unknown.first), error.backtrace
    end

    # The same for an unknown setting of a client.
    def self.of_setting(unknown)
      return "; give it as a Symbol" if unknown.is_a?(String) && Settings::NAMES.include?(unknown.to_sym)
      return "; a request has it, not a client" if Settings::OF_REQUESTS.include?(unknown)

      own = of(unknown, Settings::NAMES)
      return own unless own.empty?

      of_request = of(unknown, Settings::OF_REQUESTS)
      of_request.empty? ? "" : "#{of_request} A request has it, not a client"
    end
    private_class_method :of_setting

    # What a message adds about the unknown name; empty if no name is like it.
    def self.of(unknown, names)
      like = like(unknown.to_s, names)
      like ? "; did you mean #{like}?" : ""
    end

    # The name that is meant, nil for none.
    def self.like(unknown, names)
      other = ELSEWHERE.select { |_, name| names.include?(name) }
      return other[unknown] if other.key?(unknown) || !defined?(DidYouMean::SpellChecker)

      like = DidYouMean::SpellChecker.new(dictionary: names.map(&:to_s) + other.keys).correct(unknown).first
      other.fetch(like, like)
    end
  end
end
