# For Rack applications that receive requests of Typhoeus: <code>a[0]=x&a[1]=y</code> as an Array again.
module Rack
  # See ParamsDecoder.
  module Typhoeus
    module Middleware
      # Rack reads such params as a Hash of "0" and "1"; this makes Arrays of these.
      class ParamsDecoder
        # Also to be included in a controller, for decode_typhoeus_arrays.
        module Helper
          # Decodes the `params` of the including object, in place.
          def decode_typhoeus_arrays = decode!(params)

          # Decodes a Hash in place, however deep, and returns it.
          def decode!(hash)
            return hash unless hash.is_a?(Hash)

            hash.each { |key, value| hash[key] = as_array(decode!(value)) if value.is_a?(Hash) }
            hash
          end

          # Decodes a copy of a Hash.
          def decode(hash) = decode!(hash.dup)

          private

          # The values if the keys are "0" to "n".
          def as_array(hash)
            indexes = hash.keys.map { |key| Integer(key, 10, exception: false) }
            return hash if hash.empty? || indexes.include?(nil) || indexes.sort != [*0...hash.size]

            hash.sort_by { |key, _| key.to_i }.map(&:last)
          end
        end

        include Helper

        def initialize(app) = @app = app

        # As Rack calls it.
        def call(env)
          request = Rack::Request.new(env)
          decode(request.params).each { |name, value| update(request, name, value) }
          @app.call(env)
        end

        private

        def update(request, name, value)
          homes = [request.GET, request.POST].select { |params| params.key?(name) }
          (homes.empty? ? [request.GET] : homes).each { |params| params[name] = value }
        end
      end
    end
  end
end
