# Redirects in an interceptor's response: where they lead, and what of the request goes there.
module Hecaton
  module Interception
    # The rules are the engine's own, which decides about each step; nothing of them is here.
    class Redirects
      # Those that lead elsewhere.
      STATUSES = [301, 302, 303, 307, 308].freeze

      # Array of Redirect: those that were followed.
      attr_reader :list

      # once: whether the request's body can be read only once. The block makes the Native::Redirection of the request.
      def initialize(sender, once, &native)
        @sender = sender
        @once = once
        @make = native
        @list = []
      end

      # Whether one was followed.
      def any? = !@list.empty?

      # The Request that this response leads to, nil when there is none to follow. Raises RedirectError.
      def follow(request, response)
        return unless STATUSES.include?(response.status) && response.headers.key?("location")

        method, url, fields, login = told = (@native ||= @make.call).follow(response.status, response.headers.get_all("location"))
        return unless told

        refuse(request.url, method) if told.size == 1
        same = method == request.http_method
        @list << Redirect.new(status: response.status, url: request.url)
        refuse(url, "it needs the request's body again, which can be read only once") if same && @once

        @fields = fields
        @login = login
        Request.new(method, url, fields, same ? request.content : nil, @sender)
      end

      # The fields that the engine is to send after a redirect; and whether a login for digest authentication goes
      # along.
      attr_reader :fields, :login

      private

      def refuse(url, why)
        url = url.sub(/[?#].*\z/m, "")
        raise RedirectError.new("#{why} (#{url}, intercepted)", phase: :read, sent: true, url: url, redirects: @list.dup)
      end
    end
  end
end
