# userpwd, username, password and httpauth → credentials.
module Hecaton
  module Typhoeus
    # Included by Plan.
    module Authentication
      private

      def set_userpwd(_name, value) = @userpwd = value.to_s.split(":", 2).then { |user, password| [user.to_s, password.to_s] }

      def set_httpauth(_name, value) = @httpauth = value.is_a?(Array) ? value.map(&:to_sym) : [value.is_a?(String) ? value.to_sym : value]

      # Called after all options, so their order does not matter.
      def authenticate
        pair = @userpwd || ([@username.to_s, @password.to_s] if @username || @password)
        return unless pair

        case @httpauth
        when nil, [:basic], [1] then @basic_auth = pair
        when [:digest], [2] then @digest_auth = pair
        else
          Refusals.value(:httpauth, @httpauth.size == 1 ? @httpauth.first : @httpauth,
            "Hecaton does not find out which kinds a server supports: say :basic or :digest.")
        end
      end
    end
  end
end
