# Typhoeus::Pool, which has nothing to hold here.
module Hecaton
  module Typhoeus
    # In Typhoeus a pool of libcurl's handles, of which there are none here: connections belong to Clients.
    module Pool
      class << self
        # Closes all connections that wait to be used again.
        def clear = Clients.clear

        %i[get release with_easy].each do |name|
          define_method(name) do |*|
            raise Errors::TyphoeusError,
              "Typhoeus::Pool.#{name}: there are no handles of libcurl here: use Typhoeus::Request"
          end
        end
      end
    end
  end
end
