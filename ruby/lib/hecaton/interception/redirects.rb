# Redirects that an interceptor answered with: where they lead, and what of the request goes there.
module Hecaton
  module Interception
    # The rules are the engine's (crates/hecaton/src/client/redirect_rules.rs).
    class Redirects
      # Those that lead elsewhere.
      STATUSES = [301, 302, 303, 307, 308].freeze

      # Array of Redirect: those that were followed.
      attr_reader :list

      # most are followed at most.
      def initialize(settings, sender, most, request)
        @settings = settings
        @sender = sender
        @most = most
        @seen = [[request.http_method, request.url]]
        @list = []
        @left = false
      end

      # Whether one was followed.
      def any? = !@list.empty?

      # The Request that this answer asks for, nil when there is none to follow. Raises RedirectError.
      def follow(request, response)
        return if @most.zero? || !STATUSES.include?(response.status) || !response.headers.key?("location")

        url = target(request, response.headers.get_all("location"))
        method = method_after(response.status, request.http_method)
        allow(request, method, url)
        @list << Redirect.new(status: response.status, url: request.url)
        @seen << [method, url]
        Request.new(method, url, own(request, method, url), method == request.http_method ? request.content : nil, @sender)
      end

      # What the engine is to send of fields, once one was followed.
      def fields = @fields

      private

      def own(request, method, url)
        own = request.own
        if method != request.http_method
          own = own.to_a.each_slice(2).reject { |name, _| name.match?(/\A(content-.*|digest|expect|last-modified)\z/i) }.flatten(1)
        end
        @left ||= !@sender.same_origin?(request.url, url)
        @fields = @left ? @sender.leaving(own) : own
      end

      def target(request, locations)
        refuse(request, "its Locations disagree") if locations.uniq.size > 1
        url = Native.resolve(request.url, locations.first).sub(/#.*\z/m, "")
        refuse(request, "it leads to the scheme #{url[/\A[^:]*/].inspect}: only http and https are followed") unless url.match?(/\Ahttps?:/)
        refuse(request, "its Location cannot be used: it has credentials in it") if url.match?(%r{\A[a-z]+://[^/?#]*@})
        url
      rescue ArgumentError => error
        refuse(request, "its Location cannot be used: #{error.message}")
      end

      def allow(request, method, url)
        if @list.size >= @most
          refuse(request, "more redirects than the allowed #{@most}: the last leads to #{shown(url)}", numbered: false)
        end
        if request.url.start_with?("https:") && url.start_with?("http:") && !@settings[:redirects_to_http]
          refuse(request, "it leads from https to http, #{shown(url)}, which redirects_to_http would allow")
        end
        refuse(request, "it leads back to #{shown(url)}, in a circle") if !@settings[:cookies] && @seen.include?([method, url])
        return if @sender.same_origin?(request.url, url) || host_allowed?(host(request.url), host(url))

        refuse(request, "it leads to #{shown(url)}, whose host is not among the redirect_hosts")
      end

      def host_allowed?(from, to)
        hosts = @settings[:redirect_hosts] or return true
        from == to || hosts.map(&:downcase).any? { |host| host.start_with?("*.") ? to.end_with?(host[1..]) : host == to }
      end

      def host(url) = url[%r{\Ahttps?://(\[[^\]]*\]|[^:/?#]*)}, 1].delete("[]")

      # RFC 9110 §15.4.
      def method_after(status, method)
        get = status == 303 ? method != "HEAD" : [301, 302].include?(status) && method == "POST"
        get ? "GET" : method
      end

      def refuse(request, why, numbered: true)
        why = "redirect number #{@list.size + 1} is not followed: #{why}" if numbered
        url = shown(request.url)
        raise RedirectError.new("#{why} (#{url}, intercepted)", phase: :read, sent: true, url: url, redirects: @list.dup)
      end

      def shown(url) = url.sub(/[?#].*\z/m, "")
    end
  end
end
