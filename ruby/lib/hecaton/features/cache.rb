# A feature that keeps responses and uses them again: a private cache by RFC 9111.
require "hecaton"
require "openssl"
require "time"
require_relative "cache/directives"
require_relative "cache/entry"
require_relative "cache/memory"

class Hecaton::Features
  #   client = Hecaton::Client.new(timeout: 5, features: [Hecaton::Features::Cache.new])
  #
  # Responses to GET are stored as the server says (Cache-Control, Expires, Vary). Stale ones are validated with
  # If-None-Match or If-Modified-Since, and a successful request of another method to the same URL drops them. The
  # header Cache-Status (RFC 9211) says of a response what the cache did.
  #
  # It is a private cache: a response is used only for requests with the same Authorization and Cookie. Clients whose
  # credentials features do not see (bearer as a Proc, digest_auth, a jar of cookies) need a cache each. Responses
  # that are read in pieces are taken from the cache while they are fresh, and never stored. A response after a
  # redirect that the engine has followed is not stored.
  class Cache
    # Hash by heuristics: statuses that are stored without an explicit lifetime (RFC 9110 §15.1), but 206.
    HEURISTIC = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501].freeze
    SAFE = %w[GET HEAD OPTIONS TRACE].freeze
    ERRORS = [500, 502, 503, 504].freeze
    CONDITIONS = %w[if-none-match if-modified-since if-match if-unmodified-since if-range range].freeze
    MOST_VARIANTS = 10
    # A URL with a user, who is not to be in a key.
    LOGIN = %r{\A[a-z]+://[^/?#]*@}i
    # The state of a request: the Entry that was found, the time when it was sent, and its directives. Then whether the
    # entry is to be validated, the URL, and whether the outcome is the cache's own.
    State = Struct.new(:entry, :sent_at, :directives, :validating, :url, :given)
    private_constant :HEURISTIC, :SAFE, :ERRORS, :CONDITIONS, :MOST_VARIANTS, :LOGIN, :State

    # store:: what has read(key), write(key, value) and delete(key), such as Rails.cache. Values are Arrays of Hashes
    #   of plain objects. Default: a Memory of its own.
    # stale_if_error:: seconds after its end that a response is still used when the server fails or cannot be reached,
    #   unless the response sets another (RFC 5861). Default 0.
    # clock:: what has `call` and returns a Time. Default: Time.now.
    def initialize(store: Memory.new, stale_if_error: 0, clock: Time.method(:now))
      unless %i[read write delete].all? { |name| store.respond_to?(name) }
        raise ArgumentError, "store is of class #{store.class}: give an object with read, write and delete"
      end
      unless stale_if_error.is_a?(Numeric) && stale_if_error.real? && stale_if_error >= 0
        raise ArgumentError, "stale_if_error is #{stale_if_error.inspect}: give a number of seconds from 0 on"
      end
      raise ArgumentError, "clock is of class #{clock.class}: give an object with call" unless clock.respond_to?(:call)

      @store = store
      @stale_if_error = stale_if_error
      @clock = clock
    end

    # Adds the conditions that a stale response is validated by.
    def before_request(request) # :nodoc:
      return unless request.http_method == "GET" && CONDITIONS.none? { |name| request.headers.key?(name) }
      return if LOGIN.match?(request.url) || unseen_credentials?(request) || request.body # A key has no body.

      directives = Directives.of_request(request.headers)
      return if directives.key?("no-store")

      state = request.notes[self] = State.new(find(request), now, directives)
      return if state.entry.nil? || request.in_parts? || usable?(state)

      conditions = state.entry.conditions
      return if conditions.empty?

      state.validating = true
      request.with(headers: conditions)
    end

    # A response that is stored and fresh.
    def respond(request) # :nodoc:
      state = request.notes[self] or return
      response = own_response(state)
      state.given = true if response
      response
    end

    # What a redirect leads to is not the stored response, so the conditions do not go there
    # (RFC 9110 §15.4).
    def before_attempt(request, _number) # :nodoc:
      state = request.notes[self]
      return unless state&.validating
      return if (state.url ||= request.url) == request.url

      state.validating = false
      request.with(headers: state.entry.conditions.transform_values { nil })
    end

    def after(outcome) # :nodoc:
      request = outcome.request
      state = request.notes[self]
      return invalidate(request, outcome) unless state || SAFE.include?(request.http_method)
      return if state.nil? || state.given
      return stale(state) if failed?(outcome) && may_be_stale?(state, request)
      return freshened(state, request, outcome) if state.validating && outcome.status == 304

      keep(state, request, outcome) if outcome.is_a?(Hecaton::Response)
      nil
    end

    # Forgets the responses of a URL.
    def delete(url) = @store.delete(key(url))

    private

    def now = @clock.call.to_f

    def key(url) = "hecaton GET #{url[/\A[^#]*/]}"

    def entries(url) = Entry.all(@store.read(key(url)))

    # Whether the request itself sets credentials that features do not see. Those of its client need no check, because
    # such a client has a cache of its own.
    def unseen_credentials?(request) = !request[:digest_auth].nil? || request[:bearer].respond_to?(:call)

    def own_response(state)
      return state.entry.response(now, "hit") if state.entry && usable?(state)

      if state.directives.key?("only-if-cached")
        Hecaton::Response.new(status: 504, headers: { "cache-status" => "Hecaton; fwd=miss" })
      end
    end

    # The stored Entry for a request. A stored redirect is not used if redirects are followed, because only the engine
    # follows them.
    def find(request)
      follows = request.follows_redirects?
      entries(request.url).find { |entry| entry.selected_by?(request) && !(follows && entry.redirect?) }
    end

    # Whether the entry may be given without a word from the server.
    def usable?(state)
      entry, required = state.entry, state.directives
      return false if entry.directives.key?("no-cache") || required.key?("no-cache")

      age = entry.age(now)
      return false if required["max-age"] && age > Directives.seconds(required["max-age"])

      left = entry.lifetime - age
      return left >= Directives.seconds(required["min-fresh"]) if required.key?("min-fresh")
      return true if left.positive?

      may_overstay?(entry, required, -left)
    end

    # max-stale without a value is any time (RFC 9111 §5.2.1.2).
    def may_overstay?(entry, required, over)
      return false if entry.directives.key?("must-revalidate") || !required.key?("max-stale")

      required["max-stale"].nil? || over <= Directives.seconds(required["max-stale"])
    end

    def failed?(outcome)
      outcome.status ? ERRORS.include?(outcome.status) :
        outcome.is_a?(Hecaton::Error) && !outcome.is_a?(Hecaton::CancelledError)
    end

    def may_be_stale?(state, request)
      entry = state.entry
      return false if entry.nil? || request.in_parts? ||
                      %w[must-revalidate no-cache].any? { |name| entry.directives.key?(name) }

      most = [state, entry].filter_map { |each| each.directives["stale-if-error"] }.map(&Directives.method(:seconds))
      entry.age(now) - entry.lifetime <= (most.max || @stale_if_error)
    end

    def stale(state) = state.entry.response(now, "hit; detail=stale-if-error")

    # The response from an entry that a 304 has freshened (RFC 9111 §4.3.4). If the 304 is about another one, it
    # changes nothing, and the next request is sent without conditions.
    def freshened(state, request, outcome)
      unless state.entry.named_by?(outcome.headers)
        delete(request.url)
        return state.entry.response(now, "fwd=stale; fwd-status=304")
      end

      entry = state.entry.updated(outcome.headers, state.sent_at, now)
      write(request, entry)
      entry.response(now, "fwd=stale; fwd-status=304")
    end

    def keep(state, request, response)
      directives = Directives.of_response(response.headers)
      return unless storable?(request, response, directives)

      write(request, Entry.of(request, response, state.sent_at, now))
    end

    def storable?(request, response, directives)
      return false if request.in_parts? || response.redirects.any? ||
                      directives.key?("no-store") || response.status == 206 || response.status == 304
      return false unless Entry.varies(response.headers).all? { |name| Entry.knowable?(name, request.headers) }

      %w[max-age public private].any? { |name| directives.key?(name) } ||
        response.headers.key?("expires") || HEURISTIC.include?(response.status)
    end

    # One entry replaces those that the same request selects.
    def write(request, entry)
      others = entries(request.url).reject { |other| other.selected_by?(request) }
      @store.write(key(request.url), [entry, *others].first(MOST_VARIANTS).map(&:fields))
    end

    # After a change (RFC 9111 §4.4).
    def invalidate(request, outcome)
      return unless outcome.is_a?(Hecaton::Response) && outcome.status.between?(200, 399)

      locations = %w[location content-location].filter_map { |name| outcome.headers[name] }
        .map { |location| absolute(request.url, location) }
      locations.select! { |url| Hecaton::Request.origin_of(url) == request.origin }
      [request.url, *locations].each { |url| delete(url) }
      nil
    end

    def absolute(url, location)
      Hecaton::Native.resolve(url, location)
    rescue ArgumentError
      nil # No URL.
    end
  end
end
